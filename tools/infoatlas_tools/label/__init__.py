"""The page to look, mark and correct: key states of all demonstrations in a browser."""
