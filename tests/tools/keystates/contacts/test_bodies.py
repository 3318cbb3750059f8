"""Bodies, recognised by their columns."""

import numpy as np
import pytest

from infoatlas_tools.keystates.contacts.bodies import find_bodies


def moving(width, seed=0, length=200):
    return np.random.default_rng(seed).normal(size=(length, width)).cumsum(axis=0)


def bodies(names, states=None, ignored=()):
    found = find_bodies(names, moving(len(names)) if states is None else states, ignored)
    return {body.name: (body.columns, body.axes) for body in found}


@pytest.mark.parametrize("prefix", ["", "observation.state."])
@pytest.mark.parametrize("mark", [".", "_", "/"])
def test_positions_by_names(prefix, mark):
    names = [f"{prefix}{body}{mark}{axis}" for body in ("tool", "cube_a") for axis in "xyz"]
    assert bodies(names) == {"tool": ((0, 1, 2), "xyz"), "cube_a": ((3, 4, 5), "xyz")}


def test_two_dimensions_and_other_orders():
    assert bodies(["agent.x", "agent.y", "block.y", "block.x", "block.angle"]) == {
        "agent": ((0, 1), "xy"),
        "block": ((3, 2), "xy"),
    }


def test_velocities_relative_and_ignored_columns_are_no_positions():
    names = ["cube_velocity.x", "tool_to_cube.x", "cube_relative.x", "cube_force.x", "cube_size.x"]
    assert bodies(names) == {}
    assert bodies(["cube.x", "cube.y", "lamp.x"], ignored=(0, 2)) == {"cube": ((1,), "y")}
    assert bodies(["shoulder_pan", "elbow", "matrix"]) == {} == bodies([], moving(3))


def test_constant_positions_are_no_bodies():
    states = moving(6)
    states[:, 3:] = 7.0
    names = [f"{body}.{axis}" for body in ("tool", "goal") for axis in "xyz"]
    assert list(bodies(names, states)) == ["tool"]
