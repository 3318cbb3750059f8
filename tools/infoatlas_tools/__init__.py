"""What works on recordings, beside the runtime: so far, data generation from demonstrations."""
