from glob import glob

from setuptools import setup

NAME = "infoatlas_ros2"

setup(
    name=NAME,
    version="0.3.0",
    packages=[NAME],
    data_files=[
        ("share/ament_index/resource_index/packages", [f"resource/{NAME}"]),
        (f"share/{NAME}", ["package.xml"]),
        (f"share/{NAME}/launch", glob("launch/*.launch.py")),
        (f"share/{NAME}/config", glob("config/*")),
        # A file as it is: other ways replace its first line, and the node would run with the Python
        # of colcon. The wrapper of console_scripts looks up the package for 0.1 s, and a signal
        # during this time would cause a traceback.
        (f"lib/{NAME}", ["scripts/infoatlas_node"]),
    ],
    # infoatlas-rt is not listed, because on a robot it may be in a separate environment.
    install_requires=["setuptools"],
    zip_safe=True,
    maintainer="infoatlas-rt",
    maintainer_email="infoatlas-rt@example.org",
    description="Mutual information, extrema and key states of any topic, online.",
    license="Apache-2.0",
)
