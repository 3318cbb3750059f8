"""Data generation for ManiSkill: many demonstrations from ten, by the sub-tasks found in them.

    from infoatlas_tools.generation.engine import generate
    from infoatlas_tools.generation.sources import read_sources
    from infoatlas_tools.generation.writing import write

`engine`, `scene` and `collect` need the simulator, the others do not.
"""
