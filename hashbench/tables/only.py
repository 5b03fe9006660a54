"""The runs of a grid that somebody asks for, by what they are called and how they are set."""

from collections.abc import Iterable, Sequence

from hashbench.foundation.config import Setting
from hashbench.foundation.errors import HashbenchError, unknown
from hashbench.foundation.registry import canonical
from hashbench.runs.run import Run

NAMES = ("dataset", "protocol", "method", "seed")  # what a run has beside its settings


def only(runs: Sequence[Run], wanted: Iterable[tuple[str, Setting]]) -> list[Run]:
    """Those of ``runs`` that have what is ``wanted``, in their order.

    ``wanted`` holds pairs of a key and a value; a key is dataset, protocol, method, seed, or a setting. A run must have
    each of the keys, with one of the values that are given for it. A run without a setting does not have its value: the
    shallow methods have no ``model``.

    Raises HashbenchError if no run has the key, or the value, or all of them together.
    """
    properties = [_properties(run) for run in runs]
    values: dict[str, list[Setting]] = {}
    for key, value in wanted:
        _check(key, value, properties)
        values.setdefault(key, []).append(value)
    found = [
        run
        for run, has in zip(runs, properties, strict=True)
        if all(any(_is(has.get(key), value) for value in each) for key, each in values.items())
    ]
    if not found:
        raise HashbenchError(
            f"{' '.join(f'--only {k}={v}' for k, each in values.items() for v in each)}: no run has all"
        )
    return found


def _properties(run: Run) -> dict[str, object]:
    return {**dict(run.settings), **{name: getattr(run.name, name) for name in NAMES}}


def _check(key: str, value: Setting, properties: list[dict[str, object]]) -> None:
    known = {name for has in properties for name in has}
    if key not in known:
        raise unknown("key of --only", key, known)
    values = {str(has[key]) for has in properties if key in has}
    if not any(_is(has.get(key), value) for has in properties):
        raise HashbenchError(f"--only {key}={value}: {unknown(key, str(value), values)}")


def _is(found: object, wanted: Setting) -> bool:
    """Whether a run's property is the wanted one; names are compared as they are spelled in rows.

    >>> _is("talr_ap", "TALR-AP"), _is(0.5, 0.5), _is(1, True), _is(None, "none")
    (True, True, False, False)
    """
    if isinstance(found, str) and isinstance(wanted, str):
        return canonical(found) == canonical(wanted)
    return isinstance(found, bool) == isinstance(wanted, bool) and found == wanted
