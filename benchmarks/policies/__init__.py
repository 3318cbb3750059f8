"""Do key states help a policy? Behaviour cloning with them and without, in a simulator."""
