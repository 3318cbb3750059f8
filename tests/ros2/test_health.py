"""The contents of a report on /diagnostics."""

from diagnostic_msgs.msg import DiagnosticStatus

from infoatlas_ros2.health import Health


def report(health, stall=1.0, **counts):
    return health.status("active", ["/arm"], "ok", counts, stall, {}, {}, running=0.0)


def test_every_warning_of_a_period_is_in_its_report():
    health = Health()
    health.heard["/arm"] = float("inf")
    for why in ("8 coordinates now", "inference is too slow", "8 coordinates now"):
        health.warn(why)
    status = report(health)
    assert status.level == DiagnosticStatus.WARN
    assert status.message == "8 coordinates now; inference is too slow; ok"
    assert report(health).message == "ok"


def test_refusals_before_a_stall_are_reported():
    health = Health()
    health.heard["/arm"] = 0.0
    status = report(health, dimension=4)
    assert status.level == DiagnosticStatus.WARN
    assert status.message.startswith("stalled: no message on /arm for ")
    assert status.message.endswith("; refused 4 (dimension)")


def test_an_error_comes_before_warnings():
    health = Health()
    health.warn("slow")
    health.fail("k is 5")
    status = report(health)
    assert (status.level, status.message) == (DiagnosticStatus.ERROR, "k is 5")
