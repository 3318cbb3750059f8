"""Bodies, grippers, and the events at which one takes or leaves the other."""
