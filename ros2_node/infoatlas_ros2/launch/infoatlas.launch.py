"""Start, configure and activate the node.

ros2 launch infoatlas_ros2 infoatlas.launch.py config:=mobile_base
ros2 launch infoatlas_ros2 infoatlas.launch.py params_file:=/my/params.yaml use_sim_time:=true
ros2 launch infoatlas_ros2 infoatlas.launch.py namespace:=left name:=watcher topic:=joint_states
"""

from launch.actions import DeclareLaunchArgument, EmitEvent, OpaqueFunction, RegisterEventHandler
from launch.event_handlers import OnProcessStart
from launch.events import matches_action
from launch.substitutions import LaunchConfiguration, PathJoinSubstitution
from launch_ros.actions import LifecycleNode
from launch_ros.event_handlers import OnStateTransition
from launch_ros.events.lifecycle import ChangeState
from launch_ros.substitutions import FindPackageShare
from lifecycle_msgs.msg import Transition

from launch import LaunchDescription

# A list, because PathJoinSubstitution of older distributions refuses nested lists.
CONFIG = [
    PathJoinSubstitution(
        [FindPackageShare("infoatlas_ros2"), "config", LaunchConfiguration("config")]
    ),
    ".yaml",
]
ARGUMENTS = {
    "config": ("manipulator", "configuration of the package: arrays, manipulator or mobile_base"),
    "params_file": (CONFIG, "file with your own parameters; replaces config"),
    "name": ("infoatlas", "name of the node"),
    "namespace": ("", "namespace of the node, and of topics that do not begin with /"),
    "topic": ("", "topic of the states; replaces that of the configuration"),
    "autostart": ("true", "whether the node is configured and activated"),
    "use_sim_time": ("false", "whether the time is that of /clock"),
}


def start(context):
    """Actions that start a lifecycle node, configure it and activate it."""
    given = {name: LaunchConfiguration(name).perform(context) for name in ARGUMENTS}
    own = {"use_sim_time": given["use_sim_time"].lower() == "true"}
    if given["topic"]:
        own["topic"] = given["topic"]
    node = LifecycleNode(
        package="infoatlas_ros2",
        executable="infoatlas_node",
        name=given["name"],
        namespace=given["namespace"],
        parameters=[given["params_file"], own],
        output="screen",
    )

    def change(transition):
        return EmitEvent(
            event=ChangeState(lifecycle_node_matcher=matches_action(node), transition_id=transition)
        )

    if given["autostart"].lower() != "true":
        return [node]
    configure = RegisterEventHandler(
        OnProcessStart(target_action=node, on_start=[change(Transition.TRANSITION_CONFIGURE)])
    )
    activate = RegisterEventHandler(
        OnStateTransition(
            target_lifecycle_node=node,
            start_state="configuring",
            goal_state="inactive",
            entities=[change(Transition.TRANSITION_ACTIVATE)],
        )
    )
    return [activate, configure, node]


def generate_launch_description():
    """Declare the arguments and start the node."""
    declared = [
        DeclareLaunchArgument(name, default_value=default, description=text)
        for name, (default, text) in ARGUMENTS.items()
    ]
    return LaunchDescription([*declared, OpaqueFunction(function=start)])
