"""Samples with known mutual information."""
