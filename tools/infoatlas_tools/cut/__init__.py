"""One long recording is cut into its executions."""
