"""A page to view, mark and correct demonstrations."""
