"""Data generation for ManiSkill: many demonstrations from ten, by the sub-tasks found in them."""

from .engine import Generated, generate
from .sources import Sources, read_sources

__all__ = ["Generated", "Sources", "generate", "read_sources"]
