"""Key states and estimates in parallel environments."""
