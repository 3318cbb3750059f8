"""How far the key states, the demonstrations and the recordings can be trusted."""
