"""Data generation for ManiSkill: many demonstrations from ten, by the sub-tasks found in them.

    from generation.engine import generate
    from generation.sources import read_sources
    from generation.writing import write

`engine`, `scene` and `collect` need the simulator, the others do not.
"""
