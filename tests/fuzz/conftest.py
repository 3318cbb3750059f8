"""The profile of `make fuzz`: `pytest tests/fuzz --hypothesis-profile=long`."""

from hypothesis import settings

# `fuzzed` takes from it that there are 60 times as many examples as in the ordinary tests.
settings.register_profile("long", max_examples=6_000)
