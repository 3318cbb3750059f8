"""Working steps, their timing, and the scales of the motion."""
