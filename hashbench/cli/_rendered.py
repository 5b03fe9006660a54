"""What ``table`` and ``figure`` share: the entries that are asked for, each filled in from the stored rows."""

from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar

from hashbench.cli._terminal import LeftOutRows
from hashbench.foundation.errors import HashbenchError
from hashbench.foundation.registry import Broken, each_usable

if TYPE_CHECKING:
    from hashbench.runs.store import Row, Store

T = TypeVar("T")


def asked_for(named: list[str], every: bool, names: Callable[[], list[str]], what: str, verb: str) -> list[str]:
    """The entries of the kind ``what`` that are ``named``, or every one; not both and not neither."""
    if bool(named) == every:
        raise HashbenchError(f"name the {what}s to {verb}, or --all for every one: hashbench list {what}s")
    return names() if every else named


def filled(
    names: list[str],
    fill: "Callable[[str, list[Row], Store], T]",
    broken: Broken,
    what: str,
    *,
    left_out: LeftOutRows | None,
) -> list[T]:
    """Each of ``names`` filled in from the stored rows; a damaged row is ``left_out``, or an error if that is None."""
    from hashbench.foundation.keeping import keeping
    from hashbench.foundation.progress import bar
    from hashbench.runs.store import Store

    store, found = Store.default(), []
    with keeping(), bar("collect", what, len(names)) as collected:
        rows = list(store.rows(left_out))
        for _, each in each_usable(names, lambda name: fill(name, rows, store), broken):
            found.append(each)
            collected.update()
    return found
