"""The node."""


def main() -> None:
    """Run the node."""
