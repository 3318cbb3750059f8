"""Messages of the node's subscriptions, taken in a thread of their own.

rclpy's executor goes through all entities of a node (services, timers, events) at each message,
which takes 0.5 ms of Python, ten times as long as to take the message. Here the subscriptions alone
are waited for, as `rclpy.wait_for_message` does it, and all messages that have come are taken at
once. The executor runs the rest of the node.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Any

from rclpy.callback_groups import CallbackGroup
from rclpy.impl.implementation_singleton import rclpy_implementation

STOP = 0.5  # seconds within which a listener ends if nothing wakes it


class Aside(CallbackGroup):
    """What an executor leaves alone. It would wake at each message for the events of a subscription
    alone: they have one condition in the middleware."""

    def can_execute(self, entity: Any) -> bool:
        return False

    def beginning_execution(self, entity: Any) -> bool:
        return False

    def ending_execution(self, entity: Any) -> None:
        pass


ASIDE = Aside()


class Listener:
    """Takes the messages of some subscriptions until it is stopped.

    Parameters
    ----------
    node : rclpy.node.Node
    subscriptions : sequence of rclpy.subscription.Subscription
        Of this node, made in the group `ASIDE`. Their own callbacks are not called.
    handle : callable
        Gets the number of the subscription, the message, and the middleware's information on it;
        may not raise.
    """

    def __init__(
        self,
        node: Any,
        subscriptions: Sequence[Any],
        handle: Callable[[int, Any, Any], None],
    ) -> None:
        self._node, self._subscriptions, self._handle = node, subscriptions, handle
        self._wake = node.create_guard_condition(lambda: None, ASIDE)
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
        handles = [subscription.handle for subscription in self._subscriptions]
        context = self._node.context.handle
        waiting = rclpy_implementation.WaitSet(len(handles), 1, 0, 0, 0, 0, context)
        while not self._stopping:
            waiting.clear_entities()
            for handle in handles:
                waiting.add_subscription(handle)
            waiting.add_guard_condition(self._wake.handle)
            waiting.wait(int(STOP * 1e9))
            for number, subscription in enumerate(self._subscriptions):
                while not self._stopping:
                    taken = handles[number].take_message(subscription.msg_type, False)
                    if taken is None:
                        break
                    self._handle(number, *taken)
