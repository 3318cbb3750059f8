"""What cameras recorded beside the states."""
