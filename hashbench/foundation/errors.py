"""The errors that users see: each is one line that says what is wrong, where, and what would be right."""

import logging
import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from difflib import get_close_matches
from typing import TypeVar

T = TypeVar("T")

DAMAGE = logging.getLogger("hashbench.damage")  # its warnings tell of stored files that cannot be used

NEAREST = 5  # names that an error lists
FEW = 10  # names that are all listed
# the commands that show all names of a kind
LISTED = {kind: f"list {kind}s" for kind in ("method", "dataset", "table", "figure", "metric", "model", "run")}
LISTED |= {"features": "list features", "protocol": "list protocols --dataset {of}", "setting": "show {of}"}


class HashbenchError(Exception):
    """Bad usage or bad input: the command line prints the message and exits with status 2."""

    exit_code = 2


class CheckFailed(HashbenchError):  # noqa: N818  (the program works; a number it checked is wrong)
    """A check failed, such as a checksum or a tolerance: the command line exits with status 1."""

    exit_code = 1


def unknown(kind: str, name: str, known: Iterable[str]) -> HashbenchError:
    """The error for an unknown name; it lists the most similar known names, or all if they are few.

    Where hashbench list shows all names of this kind, it says so.

    >>> print(unknown("key", "nddcg", ["ap", "ndcg", "recall"]))
    unknown key 'nddcg': did you mean ndcg?
    >>> print(unknown("metric", "nddcg", ["ap", "ndcg", "recall"]))
    unknown metric 'nddcg': did you mean ndcg? hashbench list metrics shows all
    """
    names = sorted(known)
    if close := nearest(name, names, 3):
        hint = f"did you mean {' or '.join(close)}?"
    elif len(names) > FEW:
        hint = f"one of {len(names)}, such as {', '.join(get_close_matches(name, names, n=NEAREST, cutoff=0))};"
    else:
        return HashbenchError(f"unknown {kind} {name!r}: one of {', '.join(names) or 'none'}")
    one, _, owner = kind.partition(" of ")
    if one in LISTED and "," not in owner:
        hint += f" hashbench {LISTED[one].format(of=owner)} shows all"
    return HashbenchError(f"unknown {kind} {name!r}: {hint.removesuffix(';')}")


def nearest(name: str, known: Iterable[str], most: int = NEAREST) -> list[str]:
    """At most ``most`` names: those that begin with ``name``, then those that are similar, the most similar first."""
    names = sorted(known)
    begun = [known_name for known_name in names if name and known_name.startswith(name)]
    return list(dict.fromkeys([*begun, *get_close_matches(name, names, n=most, cutoff=0.5)]))[:most]


def one_line(error: BaseException) -> str:
    """The message of a library's error on one line, or the name of its type if the message is empty."""
    return " ".join(str(error).split()) or type(error).__name__


def printable(text: str, most: int = 60) -> str:
    """Text from a file, made safe to print in an error: control characters escaped, at most ``most`` characters."""
    if not text.isprintable():
        text = ascii(text)
    if len(text) <= most:
        return text
    return f"{text[:most]}..."


def counted(n: int, what: str) -> str:
    """A number and what it counts, such as 1 row or 1,200 rows."""
    if n != 1:
        what += "s"
    return f"{n:,} {what}"


def quietly(where: str, does: Callable[[], T], otherwise: str = "cannot be read") -> T:
    """The result of ``does`` without its warnings; its errors are HashbenchErrors: ``where: otherwise: cause``."""
    with retold(lambda cause: f"{where}: {otherwise}: {printable(cause, 200)}"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return does()


@contextmanager
def retold(tell: Callable[[str], str], *kinds: type[Exception], by: type[Exception] = HashbenchError) -> Iterator[None]:
    """Raises an error of the ``kinds`` in the block as a HashbenchError, in the words that ``tell`` makes of its cause.

    Without ``kinds`` every error but a HashbenchError: a damaged file can raise almost any inside zipfile, zlib, HDF5.
    """
    try:
        yield
    except Exception as error:
        is_own = isinstance(error, HashbenchError)
        if not isinstance(error, kinds) and (kinds or is_own):
            raise
        raise by(tell(str(error) if is_own else one_line(error))) from None
