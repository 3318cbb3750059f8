"""The lifecycle node: it publishes information, key states, sub-tasks and couplings of topics."""

import threading
import time
import traceback
from typing import Any

import rclpy
from diagnostic_msgs.msg import DiagnosticArray
from rcl_interfaces.msg import SetParametersResult
from rclpy.clock import Clock, ClockType
from rclpy.exceptions import InvalidParameterTypeException, InvalidParameterValueException
from rclpy.lifecycle import LifecycleNode, LifecycleState, TransitionCallbackReturn
from rclpy.time import Time
from std_srvs.srv import Trigger

from infoatlas_ros2 import parameters, publishers, topics
from infoatlas_ros2.camera import Camera
from infoatlas_ros2.health import LONG, Health
from infoatlas_ros2.maker import Maker
from infoatlas_ros2.message_thread import MessageThread
from infoatlas_ros2.outputs import Outputs
from infoatlas_ros2.present import Present
from infoatlas_ros2.recorders import Recorders
from infoatlas_ros2.waits import Waits
from infoatlas_ros2.worker import WARM_UP, Published, Worker
from infoatlas_rt.errors import InfoAtlasError
from infoatlas_rt.live.tracker import KeyStateTracker

INVALID = (InvalidParameterTypeException, InvalidParameterValueException)
DONE, REFUSED = TransitionCallbackReturn.SUCCESS, TransitionCallbackReturn.FAILURE


class InfoAtlasNode(LifecycleNode):
    """Estimates I(s_t; s_<t-lag) of a topic, or I(A; B) of two topics, message by message.

    The transition configure resolves types and fields, and loads and warms up the model. Activate
    starts an empty window. All slow work is done by a separate thread (`worker.py`).
    """

    def __init__(self, **options: Any) -> None:
        super().__init__("infoatlas", **options)
        self._maker: Maker | None = None
        self._tracker: KeyStateTracker | None = None  # of the task; the stream has its own
        self._worker: Worker | None = None
        self._misfits: dict[str, str] = {}  # topic -> entry of the last report
        self._newest: Any = None  # stamp of the newest estimate since the node was activated
        self._named: set[tuple[int, str]] = set()  # (side, fate) of messages already warned about
        self._chosen: list[publishers.Publishers] = []  # one for each topic
        self._taking = threading.Lock()  # held to handle a message, and to change its handlers
        self._inputs: list[Any] = []
        self._messages: MessageThread | None = None
        self._camera: Camera | None = None
        self._recorders: Recorders | None = None
        self._counts: dict[str, int] = {}  # fates of messages, when last active
        self._state = "unconfigured"
        self._health = Health()
        self._outputs, self._waits = Outputs(self), Waits(self)
        parameters.declare(self)  # may raise; attributes for `destroy_node` exist
        self._settings = Present(self)
        self.add_on_set_parameters_callback(self._on_parameters)
        self._diagnostics = self.create_publisher(DiagnosticArray, "/diagnostics", 10)
        self.create_service(Trigger, "~/reset", self._on_reset)
        # A steady clock, so that reports continue while a simulation is paused.
        steady = Clock(clock_type=ClockType.STEADY_TIME)
        period = self._settings().diagnostics_period
        self._timer = self.create_timer(period, self._report, clock=steady)

    # Transitions

    def on_configure(self, state: LifecycleState) -> TransitionCallbackReturn:
        self._health = Health()
        self._counts = {}
        try:
            self._configure(self._settings.refresh())
        except Exception as error:  # an invalid parameter must not end the node
            self._release()
            return self._refuse("configure", error)
        self._state = "inactive"
        return super().on_configure(state)

    def on_activate(self, state: LifecycleState) -> TransitionCallbackReturn:
        self._health = Health()  # all counts start at 0, like those of the stream
        self._newest = None
        maker = self._maker
        assert maker is not None  # set by on_configure
        try:
            settings = self._settings.refresh()
            settings.check(maker.estimator)
            with self._taking:
                for extractor in maker.extractors:
                    extractor.forget()  # the next messages may be of another robot
                for chosen in self._chosen:
                    chosen.forget()
                self._named.clear()
                self._worker = Worker(
                    maker, self._settings, self._publish, self._health, self._warn
                )
                if settings.image_topic:
                    self._camera = Camera(self, settings.image_topic, self._fail)
                self._waits.start(self._tracker)  # last: a node that stays inactive refuses goals
                self._state = "active"
                # Within the lock, because this enables the publishers that a message may need.
                return super().on_activate(state)
        except Exception as error:
            return self._refuse("activate", error)

    def on_deactivate(self, state: LifecycleState) -> TransitionCallbackReturn:
        unknown = None if self._worker is None else self._worker.unknown()
        self._stop()
        if unknown is not None:
            self._outputs.publish_latched(unknown)  # replaces outdated latched messages
        self._state = "inactive"
        return super().on_deactivate(state)

    def on_cleanup(self, state: LifecycleState) -> TransitionCallbackReturn:
        self._release()
        self._state = "unconfigured"
        return DONE

    on_error = on_cleanup

    def on_shutdown(self, state: LifecycleState) -> TransitionCallbackReturn:
        self._release()
        self._state = "finalized"
        return DONE

    def _configure(self, settings: parameters.Settings) -> None:
        settings.check()
        sides = [(settings.topic, settings.message_type, settings.fields, settings.joints)]
        if settings.topic_b:
            sides.append((settings.topic_b, settings.message_type_b, settings.fields_b, ()))
        kinds = [topics.message_class(kind) for _, kind, *_ in sides]
        extractors = [
            topics.extractor(kind, fields, joints, settings.stamp_field)
            for kind, (_, _, fields, joints) in zip(kinds, sides, strict=True)
        ]
        self._maker = Maker(settings, extractors)
        settings.check(self._maker.estimator)
        self._warm_up(self._maker, settings)
        tracker = self._tracker = settings.tracker()
        if names := [*filter(None, settings.recorders)]:
            self._recorders = Recorders(self, names, self._warn)
        self._outputs.open(settings, tracker)
        self._chosen = publishers.of_topics(self, self._settings)
        self._inputs = [
            topics.subscribe(self, kind, topic)
            for kind, (topic, *_) in zip(kinds, sides, strict=True)
        ]
        self._names = [subscription.topic_name for subscription in self._inputs]
        self._messages = MessageThread(self, self._inputs, self._on_message, self._fail)
        if tracker is not None:
            self.get_logger().info(tracker.describe())
        model_file = self._maker.estimator.model_file
        self.get_logger().info(
            f"configured: {' and '.join(f'{t} ({k})' for t, k, *_ in sides)}, model "
            f"{model_file.name} {model_file.version} on {self._maker.estimator.backend.provider}"
        )

    def _warm_up(self, maker: Maker, settings: parameters.Settings) -> None:
        """Time one estimate, in the background if it is slow."""
        health = self._health

        def run() -> None:
            took, period = 0.0, settings.extremum_delay / 20
            try:
                for _ in range(2):  # the first call of an engine is slow
                    took = maker.warm_up(settings)
                    if not period < took < LONG:
                        break
            except Exception as error:
                health.fail(f"warm-up: {error}")
                return
            if took > period:
                health.warn(
                    f"an estimate took {took:.2f} s, but extrema need one every {period:.2f} s: "
                    "reduce window or slices, or increase extremum_delay"
                )
                if rclpy.ok():
                    self.get_logger().warning(health.warning)

        thread = threading.Thread(target=run, name=WARM_UP, daemon=True)
        thread.start()
        thread.join(1.0)

    def _refuse(self, what: str, error: Exception) -> TransitionCallbackReturn:
        expected = isinstance(error, (InfoAtlasError, *INVALID))
        why = str(error) if expected else traceback.format_exc()
        self.get_logger().error(f"{what}: {why}")
        self._health.refused = f"{what}: {error}"
        return REFUSED

    def _stop(self) -> None:
        if self._camera is not None:
            self._camera.thread.stop()
            self._camera = None
        if self._worker is not None:
            self._worker.stop()
            self._counts = self._worker.counts
            with self._taking:
                self._worker = None
            self._waits.stop()

    def _release(self) -> None:
        if self._messages is not None:
            self._messages.stop()
            self._messages = None
        self._stop()
        if self._recorders is not None:
            self._recorders.close()
            self._recorders = None
        self._inputs = []
        self._outputs.close()
        self._maker = None

    def _on_reset(self, _: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
        if self._worker is None:
            response.message = f"{self._state}: there is no window to empty; activate makes one"
            return response
        with self._taking:
            for chosen in self._chosen:
                chosen.forget()
            self._worker.reset()
            self._waits.reset()
            if self._recorders is not None:
                self._recorders.reset()
        response.success = True
        return response

    # Messages

    def _on_message(self, side: int, message: Any, info: Any) -> None:
        """Pass the state of a message to the worker; runs in the message thread."""
        with self._taking:
            if self._worker is not None:
                self._hand_over(self._worker, side, message, info)

    def _hand_over(self, worker: Worker, side: int, message: Any, info: Any) -> None:
        now = self.get_clock().now()
        self._health.heard[self._names[side]] = time.monotonic()
        self._health.received += 1
        try:
            receiver = worker.receivers[side]
            seconds = now.nanoseconds * 1e-9
            sample = self._chosen[side].receive(receiver, message, seconds, info)
        except Exception as error:  # a message must not end the node
            self._health.fail(f"{type(error).__name__}: {error}")
            return
        news, aside = sample.notice, (side, sample.skip)
        if sample.skip in ("other bodies", publishers.OTHERS) and aside not in self._named:
            if sample.skip == "other bodies" or self._chosen[side].named:
                self._named.add(aside)  # warn once
                news = news or sample.fault
        if news:
            self._warn(news)
        if receiver.mixed and (side, "mixed") not in self._named:
            self._named.add((side, "mixed"))
            self._warn(
                f"{self._names[side]}: a message has no stamp and others have: it is dated by its "
                "arrival, on the clock of the others"
            )
        dated = receiver.extractor.dated or sample.arrived
        own = sample.stamp if dated and not sample.fault else None
        if (camera := self._camera) is not None and not side:  # another thread may remove it
            camera.add(sample)
        worker.offer(sample, topics.header(message, now, own))

    def _fail(self, why: str) -> None:
        """Report an error on /diagnostics."""
        self._health.fail(why)

    def _warn(self, why: str) -> None:
        """Warn in the log and on /diagnostics."""
        self.get_logger().warning(why)
        self._health.warn(why)

    def _publish(self, batch: Published) -> None:
        """Publish estimates and detections; runs in the worker's thread."""
        header = batch.header
        self._outputs.publish_latched(batch)
        self._waits.take(batch)
        if self._recorders is not None:
            self._recorders.take(batch)
        if batch.outcome is not None:
            self._health.outcome = f"{batch.outcome.state}: {batch.outcome.reason}"
        if header is None:
            return
        maker, worker = self._maker, self._worker
        assert maker is not None and worker is not None  # only a worker calls this
        age = self._age(header.stamp)
        self._outputs.publish(batch, worker.stream.window.lag_seconds or 0.0, age)
        if batch.estimate is not None:
            seconds = maker.estimator.seconds["total"]
            self._health.took(age, seconds, batch.estimate.fill)
            self._newest = header.stamp
        self._health.extrema += len(batch.extrema)
        self._health.events += len(batch.events)

    def _age(self, stamp: Any) -> float:
        """Seconds since a stamp, by the node's clock."""
        return float((self.get_clock().now() - Time.from_msg(stamp)).nanoseconds) * 1e-9

    # Parameters and diagnostics

    def _on_parameters(self, changes: list[Any]) -> SetParametersResult:
        """Accept or refuse a change, which is effective when the worker next reads parameters."""
        try:
            now = parameters.read(self)
            new = parameters.changed(now, changes)
            if not parameters.differ(now, new):
                return SetParametersResult(successful=True)  # parameters of ROS
            if self._maker is None:
                new.check()
            else:
                parameters.refuse_fixed(now, new)
                new.check(self._maker.estimator, [e.dim for e in self._maker.extractors])
        except (InfoAtlasError, TypeError) as error:
            return SetParametersResult(successful=False, reason=str(error))
        self._settings.accepted()
        return SetParametersResult(successful=True)

    def _report(self) -> None:
        settings, worker = self._settings.refresh(), self._worker
        self._timer.timer_period_ns = int(settings.diagnostics_period * 1e9)
        names = [name for name in (settings.topic, settings.topic_b) if name]
        about, misfits = {}, {}
        if self._inputs:
            # Names as configured, because the call remaps them; a second remap could be wrong.
            present = [self.get_publishers_info_by_topic(name) for name in names]
            names = self._names
            about["publishers"] = " and ".join(str(len(infos)) for infos in present)
            misfits = {
                subscription.topic_name: topics.misfit(subscription, infos)
                for subscription, infos in zip(self._inputs, present, strict=True)
            }
            with self._taking:
                sides = zip(self._chosen, present, strict=True)
                absent = [chosen.absent(infos) for chosen, infos in sides]
            for name, why in zip(names, absent, strict=True):
                if why:
                    misfits[name] = misfits[name] or why
                    self._health.warn(why)
            self._log_misfits(misfits)
        if self._camera is not None:
            about["camera lag"], apart = self._camera.report()
            if apart:
                self._health.warn(f"pictures follow the states by {about['camera lag']}")
        newest = self._newest
        if newest is not None:
            about["age of the newest estimate (s)"] = f"{self._age(newest):.3f}"
        if self._maker is not None:
            about |= self._maker.about(settings)
            coupling = worker.stream.coupling if worker else None
            if coupling is not None and coupling.resolution is not None:
                largest = (f"{side.max():.2g}" for side in coupling.resolution)
                about["coupling resolution"] = " and ".join(largest)
        since = None if self._maker is None else self._maker.since
        status = self._health.status(
            self._state,
            names,
            worker.reason if worker else "not active",
            worker.counts if worker else self._counts,
            settings.stall_after,
            about,
            misfits,
            0.0 if since is None else time.monotonic() - since,
        )
        status.hardware_id = " and ".join(names)
        status.name = f"{self.get_fully_qualified_name()[1:]}: mutual information"
        array = DiagnosticArray(status=[status])
        array.header.stamp = self.get_clock().now().to_msg()
        self._diagnostics.publish(array)

    def _log_misfits(self, misfits: dict[str, str]) -> None:
        """Log each mismatch once, as rclpy does for subscriptions of its executor."""
        for topic, why in misfits.items():
            if why and why != self._misfits.get(topic):
                self.get_logger().warning(f"{topic}: {why}")
        self._misfits = misfits

    def destroy_node(self) -> None:
        self._release()
        self._waits.destroy()
        super().destroy_node()
