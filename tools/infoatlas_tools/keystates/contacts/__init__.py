"""Bodies, grippers, and the events at which one grasps or leaves the other."""
