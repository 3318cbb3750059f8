"""Reads and checks what users pass in: numbers, arguments, GPU arrays, trajectories."""
