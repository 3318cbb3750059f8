"""The command `infoatlas-rt`: one module per subcommand, and what they share."""
