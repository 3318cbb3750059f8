"""Estimates over the last steps of one robot, state by state."""
