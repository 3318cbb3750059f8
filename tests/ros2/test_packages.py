"""What comes with the node: configurations, the launch file, the layout, the page of the docs."""

import re
import xml.etree.ElementTree as ElementTree
from dataclasses import fields
from pathlib import Path

import pytest
import yaml
from ament_index_python.packages import get_package_share_directory
from infoatlas_msgs.msg import KeyState, MutualInformation

from infoatlas_ros2.parameters import Settings

SHARE = Path(get_package_share_directory("infoatlas_ros2"))
DOCS = Path(__file__).parents[2] / "docs" / "ros2.md"


@pytest.mark.parametrize("name", ["arrays", "manipulator", "mobile_base"])
def test_configurations(bench, name):
    """Each is taken by the node as it is, and can be configured."""
    [(node, body)] = yaml.safe_load((SHARE / "config" / f"{name}.yaml").read_text()).items()
    assert node == "/**/infoatlas"
    values = body["ros__parameters"]
    overrides = values.pop("qos_overrides", {})
    assert set(overrides) <= {values["topic"]}
    bench.prepare(**values)
    assert bench.transition("configure")


def test_launch_file_is_installed_and_complete():
    """It cannot be run here: launch is no wheel. Its names can be checked."""
    text = (SHARE / "launch" / "infoatlas.launch.py").read_text()
    compile(text, "infoatlas.launch.py", "exec")
    assert 'executable="infoatlas_node"' in text and 'package="infoatlas_ros2"' in text
    for file in (SHARE / "config").glob("*.yaml"):
        assert file.stem in text


def test_layout_plots_what_is_published():
    root = ElementTree.parse(SHARE / "config" / "plotjuggler.xml").getroot()
    kinds = {"mutual_information": MutualInformation, "key_states": KeyState}
    curves = [curve.get("name").split("/")[1:] for curve in root.iter("curve")]
    assert len(curves) >= 4
    for node, topic, field in curves:
        assert node == "infoatlas"
        assert field in kinds[topic].get_fields_and_field_types()


def test_the_page_lists_every_parameter_with_its_default():
    told = dict(re.findall(r"^\| `(\w+)` \| `([^|]*)` \|", DOCS.read_text(), re.MULTILINE))
    for field in fields(Settings):
        default = list(field.default) if isinstance(field.default, tuple) else field.default
        assert (
            told[field.name] == yaml.safe_dump(default, default_flow_style=True).split("\n")[0]
        ), field.name
