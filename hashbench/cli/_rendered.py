"""What ``table`` and ``figure`` share: the entries that are named, each filled in from the stored rows."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, TypeVar

from hashbench.cli._terminal import LeftOutRows
from hashbench.foundation.errors import HashbenchError
from hashbench.foundation.registry import Broken, each_usable

if TYPE_CHECKING:
    from hashbench.runs.row import Row
    from hashbench.runs.store import Store

T = TypeVar("T")


def asked_for(named: list[str], every: bool, names: Callable[[], list[str]], what: str, verb: str) -> list[str]:
    """The entries of the kind ``what`` that are ``named``, or every one; not both and not neither."""
    if bool(named) == every:
        raise HashbenchError(f"name the {what}s to {verb}, or use --all (hashbench list {what}s shows their names)")
    return names() if every else named


@contextmanager
def stored_rows(left_out: LeftOutRows | None) -> "Iterator[tuple[list[Row], Store]]":
    """All stored rows and their store; a damaged row is ``left_out``, or an error if that is None."""
    from hashbench.runs.store import Store

    store = Store.default()
    yield list(store.rows(left_out)), store


def filled(names: list[str], fill: Callable[[str], T], broken: Broken, what: str) -> list[T]:
    """Each of ``names`` filled in, with a bar; ``broken`` is called for those that cannot be."""
    from hashbench.foundation.progress import bar

    found = []
    with bar("collect", what, len(names)) as collected:
        for _, each in each_usable(names, fill, broken):
            found.append(each)
            collected.update()
    return found
