"""Results that are computed once while a block runs: one command reads the same cards and settings a thousand times."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from typing import Any, ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")
_kept: dict[tuple[Any, ...], Any] | None = None  # None: nothing is kept


@contextmanager
def keeping() -> Iterator[None]:
    """While the block runs, functions marked with :func:`kept` compute each result once.

    For a command that reads files which do not change while it runs. A block inside another one shares its results.
    """
    global _kept  # noqa: PLW0603  (the one place where it changes)
    before = _kept
    _kept = {} if before is None else before
    try:
        yield
    finally:
        _kept = before


def kept(function: Callable[P, T]) -> Callable[P, T]:
    """``function``, whose results are kept inside a block of :func:`keeping`; its arguments must be hashable.

    An error is not kept.

    >>> calls = []
    >>> square = kept(lambda n: calls.append(n) or n * n)
    >>> with keeping():
    ...     square(3), square(3)
    (9, 9)
    >>> square(3), calls
    (9, [3, 3])
    """

    @wraps(function)
    def once(*args: P.args, **kwargs: P.kwargs) -> T:
        if _kept is None:
            return function(*args, **kwargs)
        key = (function, args, tuple(sorted(kwargs.items())))
        if key not in _kept:
            _kept[key] = function(*args, **kwargs)
        found: T = _kept[key]
        return found

    return once
