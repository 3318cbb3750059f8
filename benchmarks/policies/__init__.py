"""Behaviour cloning with and without key states, in a simulator."""
