"""Error message for a missing package of an extra."""

from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def needs(extra: str) -> Iterator[None]:
    """Add the command that installs a missing package of imports, in a checkout."""
    try:
        yield
    except ModuleNotFoundError as error:
        why = f"{error}: pip install -e '.[{extra}]'"
        raise ModuleNotFoundError(why, name=error.name) from error
