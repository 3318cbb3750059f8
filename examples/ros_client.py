"""A ROS 2 node that subscribes to the infoatlas node and prints its estimates and extrema.

ros2 launch infoatlas_ros2 infoatlas.launch.py config:=manipulator
python examples/ros_client.py
"""

import rclpy
from infoatlas_msgs.msg import Extremum, MutualInformation
from rclpy.executors import ExternalShutdownException
from rclpy.node import Node


class Client(Node):
    def __init__(self):
        super().__init__("infoatlas_client")
        self.create_subscription(MutualInformation, "/infoatlas/mutual_information", self.read, 10)
        self.create_subscription(Extremum, "/infoatlas/extrema", self.mark, 10)

    def read(self, message):
        interval = 1.645 * message.standard_error
        print(f"{seconds(message):.2f} s: {message.value:.2f} ± {interval:.2f} nats", flush=True)

    def mark(self, message):
        print(f"{seconds(message):.2f} s: {message.kind}", flush=True)


def seconds(message):
    return message.header.stamp.sec + 1e-9 * message.header.stamp.nanosec


if __name__ == "__main__":
    rclpy.init()
    try:
        rclpy.spin(Client())
    except (KeyboardInterrupt, ExternalShutdownException):
        pass
