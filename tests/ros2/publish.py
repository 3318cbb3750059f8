"""A robot in a separate process, which publishes joint states until it is killed.

python publish.py TOPIC RATE SEED
"""

import sys
import time

import numpy as np
import rclpy
from rclpy.qos import QoSProfile
from rclpy.time import Time
from sensor_msgs.msg import JointState

topic, rate, seed = sys.argv[1], float(sys.argv[2]), int(sys.argv[3])
rclpy.init()
node = rclpy.create_node(f"robot_{seed}")
publisher = node.create_publisher(JointState, topic, QoSProfile(depth=1000))
rng = np.random.default_rng(seed)
state = np.zeros(4)
start, begin, sent = time.time_ns(), time.monotonic(), 0
while True:
    pause = begin + sent / rate - time.monotonic()
    if pause > 0:
        time.sleep(pause)
    state = 0.8 * state + 0.3 * rng.standard_normal(4)
    message = JointState(position=state.tolist())
    message.header.stamp = Time(nanoseconds=start + int(sent * 1e9 / rate)).to_msg()
    message.header.frame_id = f"robot_{seed}"
    publisher.publish(message)
    sent += 1
