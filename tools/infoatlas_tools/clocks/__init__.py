"""By how much cameras, grippers and commands precede or follow the states of a robot."""
