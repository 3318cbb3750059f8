"""Model files and engine files: metadata and checks. The shipped models are here too."""
