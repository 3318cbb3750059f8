"""Find in a ROS bag, without ROS, when a robot's tool and a cube begin to move together.

This script writes three recorded demonstrations as a bag. For your own bag, only run the command:

    infoatlas-rt bag BAG --topic /tool_pose --with-topic /cube_pose
"""

import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from make_bag import make_bag

with TemporaryDirectory() as folder:
    bag = Path(folder) / "pick_bag"
    make_bag(bag, 3)
    command = ["bag", bag, "--topic", "/tool_pose", "--field", "pose.position"]
    command += ["--with-topic", "/cube_pose", "--with-field", "pose.position"]
    command += ["--window", "40", "--every", "20"]
    subprocess.run([sys.executable, "-m", "infoatlas_rt", *command], check=True)
