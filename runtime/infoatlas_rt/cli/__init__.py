"""The command `infoatlas-rt`: a module for each subcommand, and shared modules."""
