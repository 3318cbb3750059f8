"""A separate thread that receives the messages of the node's subscriptions.

At each message, rclpy's executor goes through all entities of a node (services, timers, events).
This lasts 0.5 ms, ten times as long as taking the message. The message thread waits only for the
subscriptions, like `rclpy.wait_for_message`, and receives all available messages at once. The
executor runs the rest of the node.
"""

import threading
import time
from collections.abc import Callable, Sequence
from typing import Any

from rclpy.callback_groups import CallbackGroup
from rclpy.impl.implementation_singleton import rclpy_implementation

STOP = 0.5  # seconds within which the thread ends if no message arrives


class Unexecuted(CallbackGroup):
    """Group of entities that no executor runs.

    The events of a subscription belong to its group. They share a condition in the middleware with
    the subscription, so an executor that waits for them would wake at each message.
    """

    def can_execute(self, entity: Any) -> bool:
        return False

    def beginning_execution(self, entity: Any) -> bool:
        return False

    def ending_execution(self, entity: Any) -> None:
        pass


UNEXECUTED = Unexecuted()


class MessageThread:
    """Receives the messages of some subscriptions until it is stopped.

    The subscriptions are of the node, in the group `UNEXECUTED`; their callbacks are not called.
    `handle` is called with the number of the subscription, the message, and the middleware's
    information about it. It must not raise. `fail` is called with the reason if messages cannot be
    taken. The message thread continues. Messages of raw subscriptions are bytes.
    """

    def __init__(
        self,
        node: Any,
        subscriptions: Sequence[Any],
        handle: Callable[[int, Any, Any], None],
        fail: Callable[[str], None],
    ) -> None:
        self._node, self._subscriptions = node, subscriptions
        self._handle, self._fail = handle, fail
        self._wake = node.create_guard_condition(lambda: None, UNEXECUTED)
        self._stopping = False
        self._thread = threading.Thread(target=self._run, name="messages", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """End the thread and the subscriptions; no message is handled afterwards."""
        self._stopping = True
        self._wake.trigger()
        self._thread.join()
        self._node.destroy_guard_condition(self._wake)
        for subscription in self._subscriptions:
            self._node.destroy_subscription(subscription)

    def _run(self) -> None:
        while not self._stopping:
            try:
                self._listen()
            except Exception as error:  # a message must not end the node
                if not self._stopping:
                    self._fail(f"messages cannot be taken: {type(error).__name__}: {error}")
                    time.sleep(STOP / 10)

    def _listen(self) -> None:
        context = self._node.context.handle
        waiting = rclpy_implementation.WaitSet(len(self._subscriptions), 1, 0, 0, 0, 0, context)
        while not self._stopping:
            waiting.clear_entities()
            for subscription in self._subscriptions:
                waiting.add_subscription(subscription.handle)
            waiting.add_guard_condition(self._wake.handle)
            waiting.wait(int(STOP * 1e9))
            for number, subscription in enumerate(self._subscriptions):
                while not self._stopping:
                    taken = subscription.handle.take_message(
                        subscription.msg_type, subscription.raw
                    )
                    if taken is None:
                        break
                    self._handle(number, *taken)
