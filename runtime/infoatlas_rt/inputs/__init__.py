"""What users pass in, read and checked once: numbers, arguments, GPU arrays, trajectories."""
