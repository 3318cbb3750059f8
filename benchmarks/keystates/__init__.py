"""Are key states where the events are? `python -m benchmarks.keystates.run`."""
