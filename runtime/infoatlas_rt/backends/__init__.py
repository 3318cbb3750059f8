"""Engines that evaluate the graph, a module each; `interface.py` is theirs, `choice.py` has all."""
