"""The contents of a report on /diagnostics."""

from diagnostic_msgs.msg import DiagnosticStatus
from harness import values

from infoatlas_ros2.health import Health


def report(health, **counts):
    return health.status("active", ["/arm"], "ok", counts, 1.0, {}, {}, running=0.0)


def heard_at(now):
    """A record with a message at time 0 and a clock at `now`."""
    clock = [0.0]
    health = Health(lambda: clock[0])
    health.heard["/arm"], clock[0] = 0.0, now
    return health


def test_rates_are_those_since_the_last_report():
    health = heard_at(0.5)
    health.received = 25
    health.took(latency=0.004, inference=0.002, fill=1.0)
    status = report(health)
    assert (status.level, status.message) == (DiagnosticStatus.OK, "estimating")
    found = values(status)
    assert (found["rate in (Hz)"], found["rate out (Hz)"]) == ("50.0", "2.0")
    assert (found["latency p99 (ms)"], found["inference (ms)"]) == ("4.0", "2.0")


def test_every_warning_of_a_period_is_in_its_report():
    health = heard_at(0.5)
    for why in ("8 coordinates now", "inference is too slow", "8 coordinates now"):
        health.warn(why)
    status = report(health)
    assert status.level == DiagnosticStatus.WARN
    assert status.message == "8 coordinates now; inference is too slow; ok"
    assert report(health).message == "ok"
    health.warn("slow")
    health.fail("k is 5")
    status = report(health)
    assert (status.level, status.message) == (DiagnosticStatus.ERROR, "k is 5")


def test_refusals_before_a_stall_are_reported():
    health = heard_at(1.2)
    status = report(health, dimension=4)
    assert status.level == DiagnosticStatus.WARN
    stalled = "stalled: no message on /arm for 1.2 s (stall_after is 1 s)"
    assert status.message == f"{stalled}; refused 4 (dimension)"
