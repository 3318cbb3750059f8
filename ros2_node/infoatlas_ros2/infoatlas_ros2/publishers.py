"""Choose one publisher of a topic, if rclpy provides the publisher's id with each message.

Several publishers may share a topic if their messages have other joints or bodies. Names of joints
and bodies are compared first. Only a publisher whose messages would be states is a second source.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from copy import copy
from functools import partial
from typing import Any

import numpy as np
from rclpy import subscription

from infoatlas_ros2.parameters import Settings
from infoatlas_rt.errors import InputError
from infoatlas_rt.messages.identity import PassedOver
from infoatlas_rt.messages.receiver import Receiver, Sample

# Whether messages have ids of publishers: since Kilted (rclpy 9.1.1).
GIVEN = "publisher_gid" in getattr(
    getattr(subscription, "MessageInfo", None), "__annotations__", ()
)
IN_A_ROW = 15  # consecutive messages of other publishers, after which one of them is used
SOON = 3  # consecutive messages of others, after which the graph is asked for the current one
AGAIN = 1.0  # seconds; longest interval between queries for a publisher that the graph lacks
RESTARTED = 0.2  # seconds of silence after which a new publisher of the same node replaces it
NAMED = 1.0  # seconds within which the graph contains the name of a node
UNKNOWN = "_NODE_NAME_UNKNOWN_"  # name of a publisher whose node was not discovered yet
OTHERS = "other publishers"  # fate of messages of other publishers


def of_topics(node: Any, present: Callable[[], Settings]) -> list[Publishers]:
    """Objects that choose the publisher of each topic of a node.

    InputError if a parameter names a publisher, and this rclpy provides no ids of publishers.
    """
    settings = present()
    sides = [(settings.topic, settings.publisher, "publisher")]
    if settings.topic_b:
        sides.append((settings.topic_b, settings.publisher_b, "publisher_b"))
    return [
        Publishers(
            partial(node.get_publishers_info_by_topic, topic),  # it remaps the name
            wanted,
            parameter,
            lambda: present().stall_after,
        )
        for topic, wanted, parameter in sides
    ]


class Publishers:
    """Uses one publisher of a topic: the one that a parameter names, else the first one.

    `infos` returns the current publishers of the topic, as `Node.get_publishers_info_by_topic`.
    `wanted` is the name of the node whose publisher is used, or empty; `parameter` that of its
    parameter, for messages. `stall` returns the seconds of silence after which a new publisher
    replaces the current one. `clock` returns the present time, seconds. InputError if a publisher
    is wanted, and this rclpy provides no ids of publishers.
    """

    def __init__(
        self,
        infos: Callable[[], list[Any]],
        wanted: str,
        parameter: str,
        stall: Callable[[], float],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        if wanted and not GIVEN:
            raise InputError(
                f"{parameter} is {wanted}, but this rclpy gives no publisher's id with a message "
                f"(Kilted's does): leave {parameter} empty, and remap one of the publishers to a "
                "topic of its own"
            )
        self._wanted = f"/{wanted.lstrip('/')}" if wanted else ""
        self._infos, self._parameter, self._stall, self._clock = infos, parameter, stall, clock
        self._names: dict[bytes, str] = {}  # publisher's id -> name of its node
        self._met: set[bytes] = set()  # publishers that have been in the graph
        # Publisher that the graph lacks -> time of the first query, time of the next query.
        self._unnamed: dict[bytes, tuple[float, float]] = {}
        self.forget()

    def forget(self) -> None:
        """Use the publisher of the next state."""
        self._own: bytes | None = None
        self._replaced: bytes | None = None  # the one before, if it seemed to have stopped
        self._seen: set[bytes] = set()
        self._row = 0  # messages of others since the last one of this publisher
        self._heard = 0.0  # time of the last message of this publisher

    def receive(self, receiver: Receiver, message: Any, received: float, info: Any) -> Sample:
        """The state of a message, as by `Receiver.receive`, if its publisher is used.

        It arrived at `received`, seconds, and `info` is rclpy's information about it.
        """
        known = info.get("publisher_gid")
        if known is None:
            return receiver.receive(message, received)
        publisher = known["data"]
        if publisher == self._own:
            self._row, self._heard = 0, self._clock()
            return receiver.receive(message, received)
        if self._wanted and self._name(publisher) != self._wanted:
            why = f"a message of {self._name(publisher)}; {self._parameter} is {self._wanted}"
            return self._pass(receiver, message, received, why, "not asked for")
        if self._own is not None:
            return self._receive_other(receiver, message, received, publisher)
        sample = receiver.receive(message, received)
        if not sample.fault:
            self._follow(publisher)
        return sample

    def _receive_other(
        self, receiver: Receiver, message: Any, received: float, publisher: bytes
    ) -> Sample:
        """Ignore a message of another publisher, or use that publisher from now on."""
        extractor, own = receiver.extractor, self._own
        assert own is not None
        fits = True
        if extractor.dim is not None:  # otherwise this message would set the layout of the states
            try:
                extractor(message)
            except PassedOver as error:
                return self._pass(receiver, message, received, str(error), error.fate)
            except InputError:
                fits = False  # a message of another robot
            if extractor.notice:  # it has the joints or the body of most messages
                self._follow(publisher)
                return receiver.receive(message, received)
        self._row += 1
        first, unnamed = publisher not in self._seen, publisher not in self._names
        self._seen.add(publisher)
        gone = (first or self._row == SOON) and self._is_gone(own)
        if (first or unnamed) and fits and (gone or self._has_stopped(own, publisher)):
            sample = receiver.receive(message, received)
            if not sample.fault:
                self._follow(publisher)  # a restarted driver: keep the window
                self._replaced = None if gone else own
                return sample
        name, usual = self._name(publisher), self._name(own)
        if (gone or self._row % IN_A_ROW == 0) and _is_state(receiver, message, received):
            self._follow(publisher)
            receiver.forget()
            left = "which is gone" if gone else f"which sent none of the last {IN_A_ROW} messages"
            return receiver.receive(message, received)._replace(
                notice=f"a state is of publisher {name} now, before it was of {usual}, {left}; "
                "the window starts anew"
            )
        why = (
            f"{name} publishes on this topic beside {usual}, whose messages are read: choose one "
            f"with the parameter {self._parameter}, or remap one to a topic of its own"
        )
        sample = self._pass(receiver, message, received, why, OTHERS)
        if publisher == self._replaced:  # it had not stopped, so the window has states of both
            self._replaced = None
            return sample._replace(notice=f"{why}; the window starts anew")
        return sample

    def _follow(self, publisher: bytes) -> None:
        """Use the messages of this publisher from now on."""
        self._own, self._replaced, self._row = publisher, None, 0
        self._seen.add(publisher)
        self._heard = self._clock()
        self._name(publisher)  # while the graph has it

    def _pass(
        self, receiver: Receiver, message: Any, received: float, why: str, fate: str
    ) -> Sample:
        return Sample(receiver.side, receiver.time(message, received), np.zeros(0), why, fate)

    @property
    def named(self) -> bool:
        """Whether all heard publishers have names, except those that the graph will not have."""
        late = self._clock() - NAMED
        return all(self._unnamed.get(it, (late,))[0] <= late for it in self._seen - {*self._names})

    def absent(self, infos: list[Any]) -> str:
        """Why no message is used, if the wanted node is not among `infos`; else empty."""
        if not self._wanted:
            return ""
        here = sorted({self._names[it] for it in self._keep(infos) if it in self._names})
        if self._wanted in here:
            return ""
        others = f": publishers there are {', '.join(here)}" if here else ""
        return f"{self._parameter} is {self._wanted}, which does not publish on this topic{others}"

    def present(self) -> set[bytes]:
        """Ids of the current publishers."""
        return self._keep(self._infos())

    def _keep(self, infos: list[Any]) -> set[bytes]:
        """Ids of publishers; stores the names that are known."""
        found = {bytes(info.endpoint_gid): info for info in infos}
        self._met |= found.keys()
        self._names |= {
            it: f"{info.node_namespace.rstrip('/')}/{info.node_name}"
            for it, info in found.items()
            if info.node_name != UNKNOWN
        }
        return {*found}

    def _name(self, publisher: bytes) -> str:
        """Name of the node of a publisher.

        The name may become known later than the messages, or never, if ids of messages differ from
        those of the graph. The graph is therefore queried at intervals that double, up to `AGAIN`.
        """
        if publisher not in self._names:
            now = self._clock()
            since, again = self._unnamed.get(publisher, (now, now))
            if now >= again:
                self._unnamed[publisher] = since, now + min(now - since, AGAIN)
                self.present()
        return self._names.get(publisher, "a publisher of unknown name")

    def _is_gone(self, publisher: bytes) -> bool:
        """Whether a publisher has left; False if ids of messages differ from those of the graph."""
        return publisher in self._met and publisher not in self.present()

    def _has_stopped(self, own: bytes, other: bytes) -> bool:
        """Whether a publisher is silent for too long; less suffices if both names are equal."""
        name, silent = self._name(other), self._clock() - self._heard
        same = other in self._names and name == self._names.get(own)
        return silent > (RESTARTED if same else self._stall())


def _is_state(receiver: Receiver, message: Any, received: float) -> bool:
    """Whether a message would be a state after `receiver.forget()`, without calling that."""
    trial = copy(receiver)
    trial.forget()
    return not trial.receive(message, received).fault
