"""The id lists of a bundle: which items were the queries, the database and the training items of its runs."""

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from hashbench.bundle import layout
from hashbench.bundle.counts import checked_arrays, read_ids
from hashbench.datasets.split import Split, of_first_classes, split, write
from hashbench.datasets.store import open_labels
from hashbench.foundation.errors import HashbenchError
from hashbench.runs.row import Row
from hashbench.runs.run import Run

LISTS = {"query_ids", "database_ids", "train_ids"}


def written(rows: Iterable[Row], folder: Path, say: Callable[[str], object]) -> Iterator[tuple[str, Path]]:
    """Writes the id lists of ``rows`` into ``folder``, each once; yields its name in a bundle and its path.

    ``say`` is told of those that cannot be written, because the labels of a data set are not here, or because other
    ids are drawn from them today.
    """
    by_name: dict[str, tuple[Run, str]] = {}
    for row in rows:
        spec = Run.from_row(row)
        by_name.setdefault(_name(spec), (spec, row.ids_sha256))
    for name, (spec, sha256) in sorted(by_name.items()):
        try:
            chosen = _split(spec)
        except HashbenchError as error:
            say(f"no id lists of {spec.name.dataset} {spec.name.protocol}: {error}")
            continue
        if chosen.sha256 != sha256:
            say(f"no id lists of {spec.name.dataset} {spec.name.protocol}: other ids are drawn today than in its rows")
            continue
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        write(path, chosen)
        yield name, path


def _name(spec: Run) -> str:
    classes = f"-classes{spec.n_classes}" if spec.n_classes else ""
    return f"{layout.ID_LISTS}/{spec.name.dataset}/{spec.name.protocol}-seed{spec.protocol.seed}{classes}.npz"


def _split(spec: Run) -> Split:
    labels = open_labels(spec.card).labels
    chosen = split(labels, spec.protocol, spec.name.dataset, spec.name.protocol)
    return of_first_classes(chosen, labels, spec.n_classes) if spec.n_classes else chosen


def read(path: Path) -> Split:
    """The id lists in a file; raises HashbenchError unless they have the checksum that is stored beside them."""
    arrays = checked_arrays(path, LISTS | {"sha256"}, frozenset({"validation_ids"}))
    stated = str(arrays.pop("sha256").small())
    chosen = Split(**{name: read_ids(array) for name, array in arrays.items()})
    if chosen.sha256 != stated:
        raise HashbenchError(f"{path}: its ids have SHA-256 {chosen.sha256}, and it says {stated[:64]}")
    return chosen
