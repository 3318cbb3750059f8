"""The ROS 2 node of infoatlas-rt."""
