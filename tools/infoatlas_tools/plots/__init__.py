"""Pictures of curves, key states, sub-tasks and streams."""
