"""Key states: boundaries of sub-tasks in demonstrations, and in a running episode."""
