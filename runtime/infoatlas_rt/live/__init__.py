"""What a robot runs: key states and sub-tasks of a `Task` are followed in running episodes."""
