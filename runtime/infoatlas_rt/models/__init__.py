"""Model files and engine files: metadata and checks. This folder also has the shipped models."""
