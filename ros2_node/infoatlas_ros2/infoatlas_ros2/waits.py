"""The action `~/wait_for`: it ends when an episode is done or has failed, or at a sub-task."""

import threading
from dataclasses import dataclass
from typing import Any

from infoatlas_msgs.action import WaitFor
from rclpy.action import ActionServer, CancelResponse
from rclpy.clock import Clock, ClockType

from infoatlas_ros2.worker import Published
from infoatlas_rt.live.outcome import DONE, FAILED, NOT_BEGUN, STATES, UNKNOWN
from infoatlas_rt.live.tracker import KeyStateTracker

LONGEST = 1e9  # seconds; a timer cannot have a much longer period, and would end the node


@dataclass
class Wait:
    """A goal that was accepted."""

    goal: Any
    until: set[str]
    timer: Any = None


class Waits:
    """Goals that wait, and the outcome and sub-tasks that were published last.

    A goal is executed when its result is known, because rclpy calls a coroutine that waits again
    and again.
    """

    def __init__(self, node: Any) -> None:
        self._node, self._lock = node, threading.RLock()
        self._waiting: list[Wait] = []
        self._names: set[str] = set()  # what `until` may have
        self.stop()
        self._server = ActionServer(
            node,
            WaitFor,
            "~/wait_for",
            execute_callback=lambda goal: None,  # each goal has its own
            handle_accepted_callback=self._accept,
            cancel_callback=self._cancel,
        )

    def start(self, tracker: KeyStateTracker | None) -> None:
        """Begin an episode of the active node; `tracker` is that of its task."""
        subtasks = None if tracker is None else tracker.task.subtasks
        self._names = {*STATES, *(part.name for part in (subtasks.parts if subtasks else ()))}
        self._begin("" if tracker else "wait_for needs the parameter task_file")

    def reset(self) -> None:
        """Begin another episode."""
        self._begin(self._refusal)

    def stop(self) -> None:
        """Abort all goals."""
        self._begin("the node is not active")

    def destroy(self) -> None:
        """Destroy the action server, which a node does not do by itself."""
        self._server.destroy()

    def take(self, batch: Published) -> None:
        """End the goals that wait for what is published; called by the worker's thread."""
        with self._lock:
            if batch.outcome is not None and batch.outcome.since >= 0:
                self._state, self._reason = batch.outcome.state, batch.outcome.reason
            self._subtasks |= {tool: "" if it is None else it.name for tool, it in batch.subtasks}
            self._settle()

    def _begin(self, refusal: str) -> None:
        with self._lock:
            self._refusal, self._state, self._reason = refusal, "", NOT_BEGUN
            self._subtasks: dict[str, str] = {}  # name of the sub-task of each tool
            self._settle()

    def _settle(self) -> None:
        """End the goals whose outcome or sub-task has come, and those that nothing will end."""
        now = self._state, *self._subtasks.values()
        for wait in [*self._waiting]:
            never = self._state == STATES[UNKNOWN] and STATES[DONE] in wait.until
            if self._refusal or never:
                self._end(wait, reason=self._refusal or self._reason)
            elif reached := next((name for name in now if name in wait.until), ""):
                self._end(wait, reached, self._reason)

    def _end(self, wait: Wait, reached: str = "", reason: str = "") -> None:
        """End a goal, if it still waits; the executor sends its result."""
        with self._lock:
            if wait in self._waiting:
                self._waiting.remove(wait)
                outcome = self._state or STATES[UNKNOWN]
                result = WaitFor.Result(reached=reached, outcome=outcome, reason=reason)
                wait.goal.execute(lambda goal: self._answer(wait, result))

    def _answer(self, wait: Wait, result: Any) -> Any:
        if wait.timer is not None:
            self._node.destroy_timer(wait.timer)
        goal = wait.goal
        end = goal.succeed if result.reached else goal.abort
        (goal.canceled if goal.is_cancel_requested else end)()
        return result

    def _accept(self, goal: Any) -> None:
        seconds = goal.request.timeout
        wait = Wait(goal, {*goal.request.until} or {STATES[DONE], STATES[FAILED]})
        with self._lock:
            self._waiting.append(wait)
            if not self._refusal and (wrong := sorted(wait.until - self._names)):
                self._end(wait, reason=f"until has {wrong[0]!r}: choose from {sorted(self._names)}")
            self._settle()
            if 0 < seconds < LONGEST and wait in self._waiting:
                steady = Clock(clock_type=ClockType.STEADY_TIME)
                reason = f"not within {seconds:g} s"
                wait.timer = self._node.create_timer(
                    seconds, lambda: self._end(wait, reason=reason), clock=steady
                )

    def _cancel(self, goal: Any) -> CancelResponse:
        with self._lock:  # so that no other thread executes the goal after it is canceled
            for wait in [*self._waiting]:
                if wait.goal == goal:
                    self._end(wait, reason="canceled")
        return CancelResponse.ACCEPT
