"""What a bundle of a table holds: the rows of its cells, the files of their runs, and the files that declare it."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from hashbench.bundle import layout
from hashbench.bundle.counts import read_histogram, read_retrieval
from hashbench.contract import CODES
from hashbench.datasets.card import card_files
from hashbench.foundation import paths
from hashbench.foundation.errors import FEW, HashbenchError
from hashbench.foundation.progress import bar
from hashbench.runs.row import Row, to_line
from hashbench.runs.settings import RECIPES, method_path, recipes
from hashbench.runs.store import Store
from hashbench.tables.cell_runs import cell_runs
from hashbench.tables.settings import settings_of_table
from hashbench.tables.spec import TableSpec, files_of

Say = Callable[[str], object]


@dataclass
class Contents:
    """The files of a bundle by their names in it: paths of files to copy, or the bytes themselves.

    ``rows_alone`` are the runs of which neither counts nor codes are packed.
    """

    spec: TableSpec
    rows: list[Row]
    files: dict[str, Path | bytes] = field(default_factory=dict)
    rows_alone: list[str] = field(default_factory=list)

    def n(self, file: str) -> int:
        """The number of runs that have this file."""
        return sum(name.startswith(layout.RUNS) and name.endswith(f"/{file}") for name in self.files)


def rows_of(spec: TableSpec, store: Store, n_seeds: int | None) -> list[Row]:
    """The stored rows of the table's cells, failed ones too, of seeds 0 .. ``n_seeds`` - 1 (None: all).

    Raises HashbenchError if there is none, and for a damaged row, since it might be one of them.
    """
    hashes = {run.name.cell_hash for cell in cell_runs(spec, 1) for run in cell.runs}
    rows = (row for name, row in store.named_rows() if name == row.run)  # not those that are kept beside another one
    found = [row for row in rows if row.cell_hash in hashes and (n_seeds is None or row.seed < n_seeds)]
    if not found:
        raise HashbenchError(f"table {spec.name}: no run of its cells is stored in {store.folder / 'rows'}")
    return found


def contents(spec: TableSpec, name: str, rows: list[Row], store: Store, say: Say, *, codes: bool = True) -> Contents:
    """The rows, the files of their runs and the declarations of the table whose file is called ``name``.

    ``say`` is told of which runs only the row is packed.
    """
    found, lines = Contents(spec, rows), dict[str, str]()
    with bar(f"check {spec.name}", "run", len(rows)) as checked:
        for row in rows:
            place = f"{layout.ROWS}/{store.rows_path(row.dataset, row.protocol).name}"
            lines[place] = lines.get(place, "") + to_line(row) + "\n"
            if row.status == "ok":
                _add_run(found, row, store.run_folder(row.run), say, codes=codes)
            checked.update()
    found.files |= {place: text.encode() for place, text in lines.items()}
    _say_missing(found, store, say)
    for path_in_root, path in _declared(spec, name):
        found.files[f"{layout.ROOT}/{path_in_root}"] = path
    return found


def _add_run(found: Contents, row: Row, folder: Path, say: Say, *, codes: bool) -> None:
    names = [name for name in layout.OF_RUN if (codes or name != CODES) and (folder / name).is_file()]
    try:
        _require_of_row(row, folder, names)
    except HashbenchError as error:
        say(f"{row.run}: neither its histogram nor its codes are packed: {error}")
        names = []
    if not names:
        found.rows_alone.append(row.run)
    for name in names:
        found.files[f"{layout.RUNS}/{row.run}/{name}"] = folder / name


def _say_missing(found: Contents, store: Store, say: Say) -> None:
    alone = found.rows_alone
    if alone:
        named = ", ".join(alone[:FEW]) + (f", ... (all in {layout.README})" if len(alone) > FEW else "")
        n_ok = sum(row.status == "ok" for row in found.rows)
        of = paths.shown(store.folder / "runs")
        say(f"{len(alone)} of {n_ok} runs have no histogram or codes in {of}, their rows alone are packed: {named}")


def _require_of_row(row: Row, folder: Path, names: Iterable[str]) -> None:
    """Raises HashbenchError unless the counts in ``folder`` are those that the row was scored from."""
    if "histogram.npz" in names and read_histogram(folder / "histogram.npz").sha256() != row.artefacts.get("histogram"):
        raise HashbenchError(f"{folder / 'histogram.npz'} is not the histogram that it was scored from")
    stated = {f"{name}.npz": sha256 for name, sha256 in row.artefacts.items()}
    for name in {"retrieval.npz", "retrieval_of_test.npz"} & set(names):
        if read_retrieval(folder / name).sha256() != stated.get(name):
            raise HashbenchError(f"{folder / name} is not the retrieval that it was scored from")


def _declared(spec: TableSpec, name: str) -> Iterator[tuple[str, Path]]:
    """The files that declare the table, by their paths in a root: its own, cards, methods, recipes and papers."""
    yield from ((f"experiments/tables/{path.name}", path) for path in files_of(name))
    cards = card_files()
    for dataset in sorted({cell.dataset for cell in spec.cells} & cards.keys()):
        yield f"datasets/{dataset}.toml", cards[dataset]
    runs = settings_of_table(spec)  # those of the bases, too
    methods = sorted({each.name.method for each in runs})
    for method in methods:
        yield f"experiments/methods/{method}.toml", method_path(method)
    files, known = paths.entries(*RECIPES), recipes()
    used = {recipe for each in runs for recipe in each.recipes()}
    for recipe in sorted(used | {other for name in used if (other := known[name].extends) is not None}):
        yield f"experiments/recipes/{recipe}.toml", files[recipe]
    papers = [root / "experiments" / "papers.toml" for root in paths.roots()]
    yield from (("experiments/papers.toml", path) for path in papers[:1] if path.is_file())
