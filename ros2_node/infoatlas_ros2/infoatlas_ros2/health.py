"""The status of the node on /diagnostics."""

import time
from collections import Counter, deque
from collections.abc import Callable
from typing import Any

import numpy as np
from diagnostic_msgs.msg import DiagnosticStatus, KeyValue

FAULTS = (
    "NaN,dtype,dimension,repeated stamp,older stamp,bad stamp,out of order,other joints,"
    "other bodies,other publishers,queue full"
)
LONG = 1.0  # seconds; a longer inference causes a warning
LATENCIES = 1000  # number of the last estimates whose percentiles are reported


class Health:
    """Counts of messages, estimates and faults, for the reports.

    Each count is written by one thread only. The clock returns the present time, seconds.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self.received = 0
        self.estimates = 0
        self.extrema = 0
        self.events = 0  # key states and couplings
        self.superseded = 0
        self.limited = 0
        self.resting = 0
        self.overflown = 0
        self.latencies: deque[float] = deque(maxlen=LATENCIES)
        self.inference = float("nan")  # seconds of the last estimate
        self.fill = 0.0
        self.heard: dict[str, float] = {}  # topic: time of its last message
        self.outcome = ""  # of the episode, with its reason
        self.error = ""  # the last error
        self.refused = ""  # why the last transition failed; "" after the next one
        self.warning = ""  # the last warning
        self._failed = False  # whether there was an error since the last report
        self._warnings: deque[str] = deque()  # warnings since the last report
        self._before = Counter[str]()
        self._at = clock()

    def fail(self, why: str) -> None:
        """Store an error for the next report, and as the last error."""
        self.error, self._failed = why, True

    def warn(self, why: str) -> None:
        """Store a warning for the next report, and as the last warning."""
        self.warning = why
        if why not in self._warnings:
            self._warnings.append(why)

    def took(self, latency: float, inference: float, fill: float) -> None:
        """Count a published estimate."""
        self.estimates += 1
        self.latencies.append(latency)
        self.inference, self.fill = inference, fill

    def status(
        self,
        state: str,
        topics: list[str],
        reason: str,
        counts: dict[str, int],
        stall: float,
        about: dict[str, Any],
        misfits: dict[str, str],
        running: float,
    ) -> DiagnosticStatus:
        """The report for the time since the last report.

        The reason is why the stream has no estimate, or "ok"; `counts` are numbers of its messages
        by fate. A time without a message above `stall` seconds is reported. `about` has further
        values: provider, model, ... `misfits` has by topic why its publishers do not match the
        subscription, or "". `running` is the seconds since the current inference began; 0 if there
        is none.
        """
        now = self._clock()
        period, self._at = max(now - self._at, 1e-9), now
        total = Counter(counts)
        total.update(received=self.received, estimates=self.estimates)
        total["queue full"] = self.overflown
        new = Counter({key: count - self._before[key] for key, count in total.items()})
        self._before = total
        refused = {key: new[key] for key in FAULTS.split(",") if new[key] > 0}
        unheard = [topic for topic in topics if topic not in self.heard]
        quiet = {topic: now - at for topic, at in self.heard.items() if now - at > stall}
        level, text = DiagnosticStatus.OK, state
        if state == "active":
            text = "estimating" if new["estimates"] else reason
            if unheard:
                level, text = DiagnosticStatus.WARN, f"no message yet on {' and '.join(unheard)}"
                text += "".join(f"; {misfits[topic]}" for topic in unheard if misfits.get(topic))
            elif quiet:
                level = DiagnosticStatus.WARN
                stalls = (f"no message on {name} for {span:.1f} s" for name, span in quiet.items())
                text = f"stalled: {' and '.join(stalls)} (stall_after is {stall:g} s)"
            elif new["received"] and not new["estimates"]:
                level = DiagnosticStatus.WARN
            if refused:
                level = DiagnosticStatus.WARN
                text += "; refused " + ", ".join(f"{n} ({key})" for key, n in refused.items())
        if running > LONG:
            level, text = DiagnosticStatus.WARN, f"{text}; inference running for {running:.1f} s"
        if self.refused:
            level, text = DiagnosticStatus.ERROR, self.refused
        failed, self._failed = self._failed, False
        warnings = [self._warnings.popleft() for _ in range(len(self._warnings))]
        if failed:
            level, text = DiagnosticStatus.ERROR, self.error
        elif warnings and level != DiagnosticStatus.ERROR:
            warnings = [warning for warning in warnings if warning not in text]
            level, text = DiagnosticStatus.WARN, "; ".join([*warnings, text])
        late = np.array(self.latencies) * 1e3
        p50, p99 = np.percentile(late, (50, 99)) if late.size else (np.nan, np.nan)
        values = {
            "state": state,
            "topic": " and ".join(topics),
            **about,
            "reason": reason,
            "rate in (Hz)": f"{new['received'] / period:.1f}",
            "rate out (Hz)": f"{new['estimates'] / period:.1f}",
            "latency p50 (ms)": f"{p50:.1f}",
            "latency p99 (ms)": f"{p99:.1f}",
            "inference (ms)": f"{self.inference * 1e3:.1f}",
            "window fill": f"{self.fill:.2f}",
            "received": self.received,
            "estimates": self.estimates,
            "extrema": self.extrema,
            "key states and couplings": self.events,
            "outcome": self.outcome,
            "dropped: newer came": self.superseded,
            "dropped: rate limit": self.limited,
            "dropped: at rest": self.resting,
            "dropped: queue full": self.overflown,
            **{f"messages: {key}": count for key, count in counts.items()},
            "last error": self.error or self.refused,
            "last warning": self.warning,
        }
        return DiagnosticStatus(
            level=level,
            message=text,
            values=[KeyValue(key=key, value=str(value)) for key, value in values.items()],
        )
