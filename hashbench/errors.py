"""The errors a user can meet: one line each, saying what, where and what would be right."""

from collections.abc import Iterable
from difflib import get_close_matches


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
