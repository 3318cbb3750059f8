"""What the page computes for long: its progress, and its end if a person cancels it."""


class Cancelled(Exception):
    """A person cancelled what was computed."""


class Work:
    """What is computed at present, and the share of it that is done."""

    def __init__(self, name: str) -> None:
        self.name, self.share, self.cancelled = name, 0.0, False

    def advance(self, share: float) -> None:
        """Note the completed share; Cancelled if it is to end."""
        self.share = share
        if self.cancelled:
            raise Cancelled
