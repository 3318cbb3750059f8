"""Readers and writers of data sets of demonstrations."""
