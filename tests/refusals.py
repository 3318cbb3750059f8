"""Calls that have to be refused."""

import pytest

from infoatlas_rt import InputError


def fails(error, match, call, /, *arguments, **options):
    """Check that a call raises an error whose message matches."""
    with pytest.raises(error, match=match):
        call(*arguments, **options)


def refuses(match, call, /, *arguments, **options):
    """Check that a call raises an InputError whose message matches."""
    fails(InputError, match, call, *arguments, **options)
