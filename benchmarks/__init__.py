"""Benchmarks: one module per question, run as `python -m benchmarks.QUESTION` from the repository.

`tasks/` has the data, `peers/` the other estimators, `measure.py` runs them and `report.py` writes
`results/`. Models are read through the public interface of `infoatlas_rt` alone.
"""
