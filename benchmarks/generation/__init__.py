"""From ten demonstrations to a policy: how well generated data does, by who cuts the sub-tasks."""
