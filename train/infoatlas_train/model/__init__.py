"""The network: from a prepared sample to a critic and its estimate."""
