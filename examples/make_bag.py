"""Write demonstrations of a robot that picks cubes as a ROS 2 bag, as a driver would publish them.

Joints are on /joint_states, the tool on /tool_pose and the cube on /cube_pose, at 20 Hz. There is a
pause of one second after each demonstration, in which the robot moves back to its start.

    python examples/make_bag.py pick_bag 30        # 30 of the 100 demonstrations
    infoatlas-rt bag pick_bag --topic /joint_states --lag-seconds 0.1 --window 40
"""

import sys
from pathlib import Path

import numpy as np

try:
    from rosbags.rosbag2 import StoragePlugin, Writer
    from rosbags.typesys import Stores, get_typestore
except ModuleNotFoundError as error:
    raise SystemExit(f"{error}: pip install '.[bags]'") from error

STORE = get_typestore(Stores.ROS2_HUMBLE)
TYPES = STORE.types
STEP = 50_000_000  # nanoseconds


def header(time):
    stamp = TYPES["builtin_interfaces/msg/Time"](*divmod(time, 10**9))
    return TYPES["std_msgs/msg/Header"](stamp, "world")


def joint_state(time, names, row):
    return TYPES["sensor_msgs/msg/JointState"](header(time), names, row[:9], row[9:18], np.zeros(0))


def pose(time, row):
    w, x, y, z = row[3:]
    point = TYPES["geometry_msgs/msg/Point"](*row[:3])
    turn = TYPES["geometry_msgs/msg/Quaternion"](x, y, z, w)
    return TYPES["geometry_msgs/msg/PoseStamped"](
        header(time), TYPES["geometry_msgs/msg/Pose"](point, turn)
    )


def make_bag(path, demonstrations, storage=StoragePlugin.MCAP):
    with np.load(Path(__file__).parent / "data" / "pickcube.npz") as file:
        states, lengths = file["states"].astype(np.float64), file["lengths"][:demonstrations]
        names = [name.removesuffix(".position") for name in file["names"][:9].tolist()]
    time = 1_700_000_000 * 10**9
    with Writer(path, version=9, storage_plugin=storage) as bag:
        joint, tool, cube = (
            bag.add_connection(topic, kind, typestore=STORE)
            for topic, kind in (
                ("/joint_states", "sensor_msgs/msg/JointState"),
                ("/tool_pose", "geometry_msgs/msg/PoseStamped"),
                ("/cube_pose", "geometry_msgs/msg/PoseStamped"),
            )
        )
        for demonstration in np.split(states[: lengths.sum()], np.cumsum(lengths)[:-1]):
            for row in demonstration:
                time += STEP
                for topic, message in (
                    (joint, joint_state(time, names, row)),
                    (tool, pose(time, row[18:25])),
                    (cube, pose(time, row[28:35])),
                ):
                    bag.write(topic, time, STORE.serialize_cdr(message, topic.msgtype))
            time += 20 * STEP


if __name__ == "__main__":
    path = sys.argv[1] if len(sys.argv) > 1 else "pick_bag"
    make_bag(path, int(sys.argv[2]) if len(sys.argv) > 2 else 100)
