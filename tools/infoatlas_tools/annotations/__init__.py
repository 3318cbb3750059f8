"""Writers of key states and sub-tasks."""
