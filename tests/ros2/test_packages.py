"""Files of the packages: configurations, launch file, layout."""

import os
import signal
import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest
import yaml
from ament_index_python.packages import get_package_prefix, get_package_share_directory
from harness import LIMIT, Bench, values
from infoatlas_msgs.msg import Extremum, MutualInformation

SHARE = Path(get_package_share_directory("infoatlas_ros2"))


@pytest.mark.parametrize("name", ["arrays", "manipulator", "mobile_base"])
def test_configurations(bench, name):
    """The node accepts each configuration unchanged, and can be configured with it."""
    [(node, body)] = yaml.safe_load((SHARE / "config" / f"{name}.yaml").read_text()).items()
    assert node == "/**"  # any node name and namespace
    values = body["ros__parameters"]
    overrides = values.pop("qos_overrides", {})
    assert set(overrides) <= {"/" + values["topic"]}
    bench.prepare(**values)
    assert bench.transition("configure")


RUN = """
import sys
from launch import LaunchService
from launch.actions import IncludeLaunchDescription
from launch.launch_description_sources import PythonLaunchDescriptionSource

source = PythonLaunchDescriptionSource(sys.argv[1])
service = LaunchService()
given = [word.split(":=") for word in sys.argv[2:]]
service.include_launch_description(IncludeLaunchDescription(source, launch_arguments=given))
sys.exit(service.run())
"""


@pytest.mark.parametrize("autostart", ["true", "false"])
def test_launch(session, tmp_path, autostart):
    """In a namespace, under another name, with its own parameters. Needs launch_ros.

    launch_ros is not in the wheels: the test runs if a distribution, or PYTHONPATH, provides it.
    """
    pytest.importorskip("launch_ros")
    words = ["namespace:=left", f"name:=watcher_{autostart}", "topic:=some/joints"]
    words += [f"autostart:={autostart}", "config:=mobile_base"]
    file = SHARE / "launch" / "infoatlas.launch.py"
    log = (tmp_path / "log.txt").open("w")
    launched = subprocess.Popen(
        [sys.executable, "-c", RUN, file, *words],
        stdout=log,
        stderr=subprocess.STDOUT,
        env=os.environ | {"PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"},
    )
    bench = Bench(f"left/watcher_{autostart}")
    try:
        wanted = "active" if autostart == "true" else "unconfigured"
        status = bench.diagnosis(lambda s: values(s)["state"] == wanted)
        assert status.name == f"left/watcher_{autostart}: mutual information"
        topic = "/left/some/joints" if autostart == "true" else "some/joints"
        assert values(status)["topic"] == topic
        assert bench.state() == wanted
    finally:
        bench.close()
        launched.send_signal(signal.SIGINT)
        assert launched.wait(LIMIT) in (0, -signal.SIGINT), (tmp_path / "log.txt").read_text()
    assert "Traceback" not in (tmp_path / "log.txt").read_text()


def test_launch_file_is_installed_and_complete():
    """Checks that do not need launch_ros."""
    text = (SHARE / "launch" / "infoatlas.launch.py").read_text()
    compile(text, "infoatlas.launch.py", "exec")
    assert 'executable="infoatlas_node"' in text and 'package="infoatlas_ros2"' in text
    for file in (SHARE / "config").glob("*.yaml"):
        assert file.stem in text


def test_the_node_runs_with_the_python_of_the_active_environment(tmp_path):
    """It does not run with the Python of colcon, which lacks the environment's packages."""
    python = tmp_path / "python3"
    python.write_text('#!/bin/sh\necho "chosen for $1"\n')
    python.chmod(0o755)
    program = Path(get_package_prefix("infoatlas_ros2"), "lib/infoatlas_ros2/infoatlas_node")
    out = subprocess.check_output([program], env={"PATH": str(tmp_path)}, text=True)
    assert out == f"chosen for {program}\n"


def test_layout_plots_what_is_published():
    text = (SHARE / "config" / "plotjuggler.xml").read_text()
    root = ElementTree.fromstring(text)
    kinds = {"mutual_information": MutualInformation, "extrema": Extremum}
    curves = [curve.get("name").split("/")[1:] for curve in root.iter("curve")]
    assert len(curves) >= 4
    for node, topic, field in curves:
        assert node == "infoatlas"
        assert field in kinds[topic].get_fields_and_field_types()
    area = text.split("/infoatlas/extrema/value")[0].rpartition("<DockArea name=")[2]
    assert area.startswith('"extrema: value and prominence')
