"""Messages of the node's subscriptions, taken in a thread of their own.

rclpy's executor goes through all entities of a node (services, timers, events) at each message,
which takes 0.5 ms of Python, ten times as long as to take the message. Here the subscriptions alone
are waited for, as `rclpy.wait_for_message` does it, and all messages that have come are taken at
once. The executor runs the rest of the node.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from typing import Any

from rclpy.callback_groups import CallbackGroup
from rclpy.impl.implementation_singleton import rclpy_implementation

STOP = 0.5  # seconds within which a listener ends if nothing wakes it


class Unexecuted(CallbackGroup):
    """Group of entities that no executor runs.

    A subscription's events belong to it too. They share its condition in the middleware, so an
    executor that waited for them would wake at each message.
    """

    def can_execute(self, entity: Any) -> bool:
        return False

    def beginning_execution(self, entity: Any) -> bool:
        return False

    def ending_execution(self, entity: Any) -> None:
        pass


UNEXECUTED = Unexecuted()


class Listener:
    """Takes the messages of some subscriptions until it is stopped.

    Parameters
    ----------
    node : rclpy.node.Node
    subscriptions : sequence of rclpy.subscription.Subscription
        Of this node, made in the group `UNEXECUTED`. Their own callbacks are not called.
    handle : callable
        Gets the number of the subscription, the message, and the middleware's information on it;
        may not raise.
    fail : callable
        Gets the reason when messages cannot be taken. The listener goes on.
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
        self._thread = threading.Thread(target=self._run, name="listener", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """End the thread; no message is handled after this."""
        self._stopping = True
        self._wake.trigger()
        self._thread.join()
        self._node.destroy_guard_condition(self._wake)

    def _run(self) -> None:
        while not self._stopping:
            try:
                self._listen()
            except Exception as error:  # no message may end the node
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
                    taken = subscription.handle.take_message(subscription.msg_type, False)
                    if taken is None:
                        break
                    self._handle(number, *taken)
