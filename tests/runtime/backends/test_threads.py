"""Threads on the CPU: two by default, one on a single core, or the requested number."""

import os

import pytest

from infoatlas_rt.backends.threads import cpu_threads, default_threads


@pytest.mark.parametrize(("cores", "expected"), [(1, 1), (2, 2), (64, 2)])
def test_default_threads(monkeypatch, cores, expected):
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(cores)), raising=False)
    assert default_threads() == cpu_threads(None) == expected and cpu_threads(5) == 5
