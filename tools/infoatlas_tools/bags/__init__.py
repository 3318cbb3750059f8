"""Files of ROS bags."""
