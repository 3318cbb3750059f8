"""What a robot follows live, fitted to demonstrations."""
