"""The errors a user can meet: one line each, saying what, where and what would be right."""

import warnings
from collections.abc import Callable, Iterable
from difflib import get_close_matches
from typing import TypeVar

T = TypeVar("T")


class HashbenchError(Exception):
    """Bad usage or bad input; the command line prints its message and exits 2."""

    exit_code = 2


class CheckFailed(HashbenchError):  # noqa: N818  (a verdict on a number, not a fault)
    """A check that was asked for did not hold; exits 1."""

    exit_code = 1


def unknown(kind: str, name: str, known: Iterable[str]) -> HashbenchError:
    """The error for a name that does not exist, with the nearest names that do.

    >>> print(unknown("metric", "nddcg", ["ap", "ndcg", "recall"]))
    unknown metric 'nddcg': did you mean ndcg?
    >>> print(unknown("metric", "zzz", ["ap", "ndcg"]))
    unknown metric 'zzz': one of ap, ndcg
    """
    names = sorted(known)
    close = get_close_matches(name, names, n=3, cutoff=0.5)
    hint = f"did you mean {' or '.join(close)}?" if close else f"one of {', '.join(names) or 'none'}"
    return HashbenchError(f"unknown {kind} {name!r}: {hint}")


def one_line(error: BaseException) -> str:
    r"""What a library's error says, on one line; its type where it says nothing.

    >>> one_line(ValueError("first\n  second")), one_line(EOFError())
    ('first second', 'EOFError')
    """
    return " ".join(str(error).split()) or type(error).__name__


def printable(text: str, most: int = 60) -> str:
    r"""Text from a file, fit for an error: control characters escaped, cut after ``most`` characters.

    >>> printable("codes\n"), printable("x" * 100, 3)
    ("'codes\\n'", 'xxx...')
    """
    shown = text if text.isprintable() else ascii(text)
    return shown if len(shown) <= most else f"{shown[:most]}..."


def quietly(where: str, does: Callable[[], T], otherwise: str = "cannot be read") -> T:
    """What ``does()`` returns, its warnings suppressed; any error becomes one line, ``where: otherwise: cause``."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return does()
    except HashbenchError:
        raise
    except Exception as error:  # a damaged file can raise nearly anything inside zipfile, zlib or HDF5
        raise HashbenchError(f"{where}: {otherwise}: {printable(one_line(error), 200)}") from None
