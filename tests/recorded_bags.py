"""Bags of given messages, with the types and messages of examples/make_bag.py."""

import sys
from pathlib import Path

import numpy as np
from rosbags.rosbag2 import StoragePlugin, Writer

from fakes import RecordingEstimator
from infoatlas_rt.messages.fields import Extractor
from infoatlas_rt.messages.sync import Synchroniser
from infoatlas_tools.bags.bag_curve import read
from infoatlas_tools.bags.states import Bag
from player import Player

sys.path.insert(0, str(Path(__file__).parents[1] / "examples"))
from make_bag import STORE, TYPES, header, joint_state, make_bag, pose

__all__ = ["STORE", "TYPES", "header", "joint_state", "make_bag", "pose"]
START = 1_700_000_000 * 10**9
ARRAY = "std_msgs/msg/Float64MultiArray"


def write_bag(path, messages, storage=StoragePlugin.MCAP, surplus=b""):
    """Write messages in this order: (topic, time in ns, message)."""
    with Writer(path, version=9, storage_plugin=storage) as bag:
        topics = {}
        for name, time, message in messages:
            kind = message.__msgtype__
            if name not in topics:
                topics[name] = bag.add_connection(name, kind, typestore=STORE)
            bag.write(topics[name], time, bytes(STORE.serialize_cdr(message, kind)) + surplus)
    return path


def played(path, topics, fields, estimator=None, progress=None, part=None, **options):
    """The player that has read topics of a bag, with its estimator, and the curve."""
    estimator = estimator or RecordingEstimator(n_min=8)
    sync = Synchroniser(0.02) if len(topics) == 2 else None
    with Bag(path) as bag:
        extractors = [Extractor(*own) for own in zip(fields, map(bag.schema, topics), strict=True)]
        player = Player(estimator, *extractors, sync=sync, **options)
        curve = read(bag, topics, player.receivers, player.stream, progress, part=part)
    return player, estimator, curve


def array(row):
    layout = TYPES["std_msgs/msg/MultiArrayLayout"]([], 0)
    return TYPES[ARRAY](layout, np.asarray(row, float))


def arrays(rows, step=10_000_000):
    """Messages of arrays without headers."""
    return [("/array", START + i * step, array(row)) for i, row in enumerate(rows)]
