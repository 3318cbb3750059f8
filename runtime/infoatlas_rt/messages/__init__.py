"""ROS messages and bags as streams of states. No module here imports ROS."""
