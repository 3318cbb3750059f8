"""Error message for a missing package of an extra."""


def missing(error: ModuleNotFoundError, extra: str) -> ModuleNotFoundError:
    """The same error with the command that installs the package in a checkout."""
    return ModuleNotFoundError(f"{error}: pip install -e '.[{extra}]'", name=error.name)
