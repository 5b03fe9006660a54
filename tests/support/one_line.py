"""The one line with which hashbench refuses what is wrong."""

import pytest

from hashbench.foundation.errors import HashbenchError


def one_line(match: str | None = None) -> pytest.RaisesExc[HashbenchError]:
    """A block that must end in an error for users that ``match`` finds; tests/conftest.py sees that it is one line."""
    return pytest.raises(HashbenchError, match=match)
