"""The one line with which hashbench refuses what is wrong."""

import re

import pytest

from hashbench.foundation.errors import HashbenchError


def one_line(match: str | None = None, *, text: str | None = None) -> pytest.RaisesExc[HashbenchError]:
    """A block that must end in an error for users that ``match`` finds, or that holds ``text``.

    tests/conftest.py sees that each such error is one line.
    """
    return pytest.raises(HashbenchError, match=match if text is None else re.escape(text))
