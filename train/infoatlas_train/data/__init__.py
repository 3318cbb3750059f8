"""Synthetic datasets with known mutual information."""
