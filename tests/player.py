"""A stream with a receiver for each topic, fed with one message at a time."""

from infoatlas_rt.messages.receiver import Receiver
from infoatlas_rt.messages.stream import Stream
from infoatlas_rt.streams.extrema import ExtremumDetector
from infoatlas_rt.streams.sliding_window import SlidingWindow


class Player:
    def __init__(self, estimator, *extractors, detector=None, delay=1.0, sync=None, **options):
        self.window = SlidingWindow(
            estimator.model_file, two_streams=len(extractors) == 2, **options
        )
        self.stream = Stream(
            self.window, estimator, detector or ExtremumDetector(delay=delay), sync=sync
        )
        self.receivers = [Receiver(extractor, side) for side, extractor in enumerate(extractors)]

    def push(self, message, received=None, side=0):
        return self.stream.take(self.receivers[side].receive(message, received))
