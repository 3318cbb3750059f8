"""Energy and memory: from files as on a Jetson, and on a machine without NVML or rails."""

import threading

import pytest

from infoatlas_rt.cli.board import Board


def rail(folder, number, label, millivolts, milliamperes):
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"in{number}_label").write_text(label + "\n")
    (folder / f"in{number}_input").write_text(f"{millivolts}\n")
    (folder / f"curr{number}_input").write_text(f"{milliamperes}\n")


def test_parts_are_summed_where_there_is_no_input_rail_which_counts_alone(tmp_path):
    folder = tmp_path / "1-0040" / "hwmon" / "hwmon3"
    rail(folder, 1, "VDD_GPU_SOC", 12000, 500)
    rail(folder, 2, "VDD_CPU_CV", 12000, 250)
    (folder / "in7_label").write_text("sum of shunt voltages\n")  # it has no current
    assert Board(tmp_path).watts() == pytest.approx(9.0)
    rail(folder, 3, "VDD_IN", 5000, 2000)
    assert Board(tmp_path).watts() == pytest.approx(10.0)


def test_energy_is_power_over_time(tmp_path, monkeypatch):
    rail(tmp_path / "1-0040" / "hwmon" / "hwmon3", 1, "VDD_IN", 5000, 2000)
    clock = iter(range(0, 1000, 2))  # two seconds between measurements
    monkeypatch.setattr("infoatlas_rt.cli.board.perf_counter", lambda: next(clock))
    enough = threading.Event()
    board = Board(tmp_path)
    readings = []

    def watts():
        readings.append(10.0 if len(readings) < 4 else 40.0)
        if len(readings) == 6:
            enough.set()
        return readings[-1]

    monkeypatch.setattr(board, "watts", watts)
    with board.energy() as energy:
        assert enough.wait(20)
    used = readings[1:]  # the first one checked whether there are rails
    assert energy.joules == pytest.approx(2 * sum(used))
