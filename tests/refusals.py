"""Calls that have to be refused."""

import pytest

from infoatlas_rt import InputError


def refuses(match, call, /, *arguments, **options):
    """Check that a call raises an InputError whose message matches."""
    with pytest.raises(InputError, match=match):
        call(*arguments, **options)
