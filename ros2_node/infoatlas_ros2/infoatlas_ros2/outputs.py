"""The published topics of the node, except for /diagnostics."""

from typing import Any

from infoatlas_msgs.msg import Coupling, Extremum, KeyState, MutualInformation, Outcome, Subtask
from rclpy.qos import DurabilityPolicy, QoSProfile
from std_msgs.msg import Header

from infoatlas_ros2 import messages
from infoatlas_ros2.parameters import Settings
from infoatlas_ros2.worker import Published
from infoatlas_rt.live.tracker import KeyStateTracker
from infoatlas_rt.streams.events import COUPLED, DECOUPLED, KEY_STATE

# Type and description of each topic, shown in docs/ros2-reference.md. Topics in `ALWAYS` always
# exist. The others exist with the settings that the description names.
TOPICS: dict[str, tuple[Any, str]] = {
    "mutual_information": (MutualInformation, "estimate over the present window"),
    "extrema": (Extremum, "maxima, minima and steepest changes of the estimates over time"),
    "key_states": (KeyState, "key states of demonstrations; with `task_file`"),
    "subtask": (
        Subtask,
        "present sub-task, reference object, progress, stalls; if `task_file` has sub-tasks",
    ),
    "outcome": (
        Outcome,
        "whether the episode is done or has failed, since when, and why; with `task_file`",
    ),
    "couplings": (Coupling, "two topics begin or stop to move together; with `coupling: true`"),
    "motion_information": (
        MutualInformation,
        "estimate of the motions of two topics; with `coupling: true`",
    ),
}
ALWAYS = ("mutual_information", "extrema")
EVENTS = {  # kind -> topic, and function that makes the message
    KEY_STATE: ("key_states", messages.keystate),
    COUPLED: ("couplings", messages.coupling),
    DECOUPLED: ("couplings", messages.coupling),
}
LATCHED = DurabilityPolicy.TRANSIENT_LOCAL  # later subscribers receive the newest message


class Outputs:
    """Publishers by topic; those of a configuration exist between `open` and `close`."""

    def __init__(self, node: Any) -> None:
        self._node = node
        self._publishers: dict[str, Any] = {}
        for topic in ALWAYS:
            self._add(topic, 10)

    def _add(self, topic: str, qos: Any) -> None:
        kind = TOPICS[topic][0]
        self._publishers[topic] = self._node.create_lifecycle_publisher(kind, f"~/{topic}", qos)

    def open(self, settings: Settings, tracker: KeyStateTracker | None) -> None:
        """Add the topics of a configuration."""
        if settings.task_file:
            self._add("key_states", 10)
            self._add("outcome", QoSProfile(depth=1, durability=LATCHED))
        if settings.coupling:
            self._add("couplings", 10)
            self._add("motion_information", 10)
        if tracker is not None and tracker.task.subtasks is not None:
            tools = tracker.task.subtasks.tools
            self._add("subtask", QoSProfile(depth=len(tools), durability=LATCHED))

    def close(self) -> None:
        """Remove the topics of a configuration."""
        for topic in self._publishers.keys() - ALWAYS:
            self._node.destroy_lifecycle_publisher(self._publishers.pop(topic))

    def publish(self, batch: Published, lag_seconds: float, age: float) -> None:
        """Publish the results of a state, `age` seconds after its stamp; `batch` has a header."""
        publishers, header = self._publishers, batch.header
        if batch.estimate is not None:
            message = messages.estimate(batch.estimate, header, age, lag_seconds)
            publishers["mutual_information"].publish(message)
        if batch.motions is not None:
            message = messages.estimate(batch.motions, header, age)
            publishers["motion_information"].publish(message)
        for extremum, its in batch.extrema:
            publishers["extrema"].publish(messages.extremum(extremum, its, header.stamp))
        for event, its in batch.events:
            topic, make = EVENTS[event.kind]
            publishers[topic].publish(make(event, its, header.stamp))

    def publish_latched(self, batch: Published) -> None:
        """Publish current sub-tasks and outcome; without a header they are dated to now."""
        header = batch.header or Header(stamp=self._node.get_clock().now().to_msg())
        if batch.outcome is not None:
            self._publishers["outcome"].publish(messages.outcome(batch.outcome, header))
        for tool, state in batch.subtasks:
            self._publishers["subtask"].publish(messages.subtask(tool, state, header))
