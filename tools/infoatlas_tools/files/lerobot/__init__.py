"""LeRobot data sets."""
