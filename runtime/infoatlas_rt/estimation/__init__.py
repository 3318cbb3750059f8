"""Estimates of mutual information, with a standard error; tests of independence."""
