"""Key states compared with true events: `python -m benchmarks.keystates.run`."""
