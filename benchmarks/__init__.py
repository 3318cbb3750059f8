"""Benchmarks: one module per question, run as `python -m benchmarks.QUESTION` from the repository.

`tasks/` holds what is estimated, `peers/` what else estimates it, one module each; `report.py` runs
both and writes `results/`. Models are read through the public interface of `infoatlas_rt` alone.
"""
