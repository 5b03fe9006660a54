"""Writes a bundle of a table: rows, files of runs, declarations, id lists, a README. Names are sorted, times fixed."""

import hashlib
import json
import stat
import zipfile
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property, partial
from pathlib import Path
from tempfile import TemporaryDirectory

from hashbench.foundation import paths, provenance
from hashbench.foundation.errors import FEW, CheckFailed, HashbenchError, counted, quietly, retold
from hashbench.foundation.files import atomic, file_sha256
from hashbench.foundation.progress import bar, with_bar
from hashbench.foundation.registry import canonical
from hashbench.learning.contract import CODES
from hashbench.learning.methods import METHODS
from hashbench.running.datasets.card import card_files
from hashbench.running.datasets.protocol import N_SPLITS
from hashbench.running.datasets.split import of_first_classes, split, write
from hashbench.running.datasets.store import open_labels
from hashbench.running.runs.row import Maker, Row, to_line
from hashbench.running.runs.run import Run
from hashbench.running.runs.settings import RECIPES, method_path, recipes
from hashbench.running.runs.store import Store
from hashbench.scoring.histogram import Histogram
from hashbench.scoring.histogram.retrieval import Retrieval
from hashbench.showing.bundle import archive
from hashbench.showing.bundle.archive import SCHEMA, Manifest
from hashbench.showing.bundle.arrays import read_counts
from hashbench.showing.inks.markdown import escape
from hashbench.showing.tables.cell_runs import cell_runs
from hashbench.showing.tables.settings import settings_of_table
from hashbench.showing.tables.spec import TableSpec, files_of, load

THE_TIME = (1980, 1, 1, 0, 0, 0)  # of every file: the first that a zip archive can hold

Say = Callable[[str], object]

README = """\
# {title}

The table `{m.table}` of hashbench: its rows, and what is needed to render it and to score it again without training.

hashbench {m.code.version} made this archive{by} (commit {m.code.commit}). Install it: another one may name other runs.\
{packages}

Score the rows again from the packed histograms and codes, and compare every value:

    hashbench verify {folder}.zip

Unpack the archive, and render the table from its rows:

    hashbench --results {folder}/results --root {folder}/root {m.table_command}

| folder or file | what it holds |
| --- | --- |
| `results/rows/` | {n_rows}: the stored record of each run |
| `results/runs/` | the files of {n_runs}: {n[histograms]} with a histogram (`histogram.npz`), {n[retrievals]} with \
the result of a bucket search (`retrieval.npz`), {n[codes]} with codes (`codes.npz`) |
| `root/` | the table's declaration, the cards of its data sets, the files of its methods and recipes, the papers |
| `splits/` | {n_lists}: the ids of queries, database and training items |
| `manifest.json` | the SHA-256 of each file, and the versions of the programs that made the archive |
{alone}"""

ALONE = """
Of these runs the rows alone are here, and `hashbench verify` cannot score them again:

{runs}
"""


@dataclass
class Packed:
    """A bundle: its ``files`` by their names in it, and the runs of which neither counts nor codes are packed."""

    spec: TableSpec
    rows: list[Row]
    files: dict[str, Path] = field(default_factory=dict)
    rows_alone: list[str] = field(default_factory=list)
    size_bytes: int = 0
    sha256: str = ""

    @property
    def n(self) -> dict[str, int]:
        """The numbers of runs with a histogram, a retrieval or codes, and of id lists."""
        ends = {"histograms": "/histogram.npz", "retrievals": "/retrieval.npz", "codes": f"/{CODES}"}
        n = {what: sum(name.endswith(end) for name in self.files) for what, end in ends.items()}
        return n | {"lists": sum(name.startswith(f"{archive.ID_LISTS}/") for name in self.files)}


@dataclass(frozen=True)
class Order:
    """The table of a bundle, and which of its runs are packed, as the options of ``hashbench bundle`` say."""

    table: str
    budget: str | None = None
    codes: bool = True
    maker: Maker | None = None

    def manifest(self, files: dict[str, str]) -> Manifest:
        """The manifest of the bundle whose ``files`` have these checksums."""
        # whether torch has been imported, and so its CUDA is known, says nothing about the bundle
        versions = {name: version for name, version in provenance.versions().items() if name != "cuda"}
        packages = {}
        for method in self.spec.methods:
            if method in METHODS and (package := METHODS.provider(method)) is not None:
                packages[method] = package
        return Manifest(
            schema=SCHEMA,
            table=canonical(self.table),
            budget=self.budget,
            n_seeds=None,
            codes=self.codes,
            code=provenance.code(),
            versions=versions,
            maker=self.maker,
            packages=packages,
            files=files,
        )

    @cached_property
    def spec(self) -> TableSpec:
        """The table; raises HashbenchError if there is none of this name."""
        return load(f"{self.table}@{self.budget or ''}")

    @property
    def folder(self) -> str:
        """The name of the folder in the archive, and by default of the archive."""
        return f"{self.spec.name}-bundle"


def pack(order: Order, path: Path, store: Store, say: Say) -> Packed:
    """Writes the bundle to ``path``, as a whole or not at all; ``say`` gets a line about all that is not packed.

    Raises CheckFailed if a row, or the counts of a run, are damaged.
    """
    packed = Packed(order.spec, rows_of(order.spec, store))
    with TemporaryDirectory() as scratch:
        _add_rows(packed, store, say, Path(scratch), codes=order.codes)
        packed.files.update(_declared(order.spec, canonical(order.table)))
        packed.files.update(_id_lists(packed.rows, Path(scratch), say))
        for name in packed.files:
            if archive.most_bytes(name) is None:
                raise HashbenchError(f"{name}: no bundle can hold a file of this name: letters, digits, _ . + and -")
        readme = Path(scratch) / archive.README
        readme.write_text(_readme(order, packed), encoding="utf-8")
        packed.files[archive.README] = readme
        with atomic(path) as temporary:
            _write(temporary, order, packed)
            packed.size_bytes = temporary.stat().st_size
            packed.sha256 = file_sha256(temporary)
    return packed


def rows_of(spec: TableSpec, store: Store) -> list[Row]:
    """The stored rows of the table's cells, failed ones too, at least one."""
    if absent := ", ".join(spec.not_installed):
        raise HashbenchError(f"table {spec.name}: its rows of {absent} cannot be told: install the package that has it")
    n_repeats = N_SPLITS if spec.repeats == "splits" else 1
    hashes = {run.name.cell_hash for cell in cell_runs(spec, n_repeats) for run in cell.runs}
    stored = (row for name, row in store.named_rows() if name == row.run)  # not those that are kept beside another one
    rows = [row for row in stored if row.cell_hash in hashes]
    if not rows:
        raise HashbenchError(f"table {spec.name}: no run of its cells is stored in {store.folder / 'rows'}")
    return rows


def collect(rows: Iterable[Row], store: Store, say: Say, into: Store | None = None) -> list[Path]:
    """Keeps the counts of ``rows`` that are in ``results/runs``; returns the new files. ``say`` gets what differs.

    They are kept in the ``store`` itself, or ``into`` another one.
    """
    written = []
    for row in rows:
        for name, kept in (into or store).evidence(row).items():
            source = store.run_folder(row.run) / name
            if source.is_file() and not kept.is_file():
                counts = quietly(str(source), partial(read_counts, source))
                if counts.sha256() == kept.name.partition(".")[0]:
                    counts.save(kept)
                    written.append(kept)
                else:
                    say(f"{row.run}: {source} is not kept: it is of another training than the row")
    return written


def _add_rows(packed: Packed, store: Store, say: Say, scratch: Path, *, codes: bool) -> None:
    """Adds the rows and the files of their runs; says which runs have none."""
    lines: dict[str, str] = {}
    for row in with_bar(packed.rows, f"check {packed.spec.name}", "run"):
        place = f"{archive.ROWS}/{store.rows_path(row.dataset, row.protocol).name}"
        lines[place] = lines.get(place, "") + to_line(row) + "\n"
        if row.status == "ok":
            files = files_of_run(row, store, say, scratch / "runs" / row.run, codes=codes)
            if not files:
                packed.rows_alone.append(row.run)
            packed.files |= {f"{archive.RUNS}/{row.run}/{name}": path for name, path in files.items()}
    for place, text in lines.items():
        packed.files[place] = scratch / Path(place).name
        packed.files[place].write_text(text, encoding="utf-8")
    if alone := packed.rows_alone:
        named = ", ".join(alone[:FEW])
        if len(alone) > FEW:
            named += f", ... (all in {archive.README})"
        n_ok = sum(row.status == "ok" for row in packed.rows)
        where = f"no histogram or codes in runs/ or evidence/ of {paths.shown(store.folder)}"
        say(f"{len(alone)} of {n_ok} runs have {where}, their rows alone are packed: {named}")


def stated_sums(row: Row) -> dict[str, str]:
    """The checksums that a row states of the files of its run, by their names."""
    return {f"{artefact}.npz": sha256 for artefact, sha256 in row.artefacts.items()}


def files_of_run(row: Row, store: Store, say: Say, scratch: Path, *, codes: bool) -> dict[str, Path]:
    """The counts, and with ``codes`` the codes, of a row by name; those kept as evidence are put into ``scratch``.

    ``say`` gets a line where the files in the run's folder are of another training. CheckFailed where one is damaged.
    """
    folder = store.run_folder(row.run)
    names = [name for name in archive.OF_RUN if (codes or name != CODES) and (folder / name).is_file()]
    files = {name: folder / name for name in names}
    for name in [name for name in names if name in archive.STATED]:
        path = folder / name
        with retold(str, HashbenchError, by=CheckFailed):
            sha256 = read_counts(path).sha256()
        if sha256 != stated_sums(row).get(name):
            fault = f"{path} is not the {path.stem.partition('_')[0]} that it was scored from"
            say(f"{row.run}: its files in {paths.shown(folder)} are not used: {fault}")
            files = {}
            break
    for name, kept in store.evidence(row).items():
        if name not in files and kept.is_file():
            files[name] = scratch / name
            with retold(str, HashbenchError, by=CheckFailed):
                kind = Retrieval if name.startswith("retrieval") else Histogram
                kind.load(kept).save(files[name])
    return files


def _declared(spec: TableSpec, name: str) -> Iterator[tuple[str, Path]]:
    """The files that declare the table, by their names in a bundle: its own, cards, methods, recipes and papers."""
    experiments = f"{archive.ROOT}/experiments"
    yield from ((f"{experiments}/tables/{path.name}", path) for path in files_of(name))
    cards = card_files()
    for dataset in sorted({cell.dataset for cell in spec.cells} & cards.keys()):
        yield f"{archive.ROOT}/datasets/{dataset}.toml", cards[dataset]
    runs = settings_of_table(spec)  # of the bases, too
    methods = {of_method.name.method for of_method in runs}
    for method in sorted(methods):
        yield f"{experiments}/methods/{method}.toml", method_path(method)
    files = paths.entries(*RECIPES)
    used = {recipe for of_method in runs for recipe in of_method.recipes()}
    used |= {name for name, recipe in recipes().items() if recipe.methods.keys() & methods}  # what they are tuned to
    for recipe in sorted(used):
        yield f"{experiments}/recipes/{recipe}.toml", files[recipe]
    if (papers := paths.root() / "experiments" / "papers.toml").is_file():
        yield f"{experiments}/papers.toml", papers


def _id_lists(rows: Iterable[Row], folder: Path, say: Say) -> Iterator[tuple[str, Path]]:
    """Writes the id lists of ``rows``, each once; yields its name and its path. ``say`` gets the reason if not."""
    by_name: dict[str, tuple[Run, str]] = {}
    for row in rows:
        run = Run.from_row(row)
        name = f"{archive.ID_LISTS}/{row.dataset}/{row.protocol}-seed{run.protocol.seed}"
        if run.n_classes:
            name += f"-classes{run.n_classes}"
        by_name.setdefault(f"{name}.npz", (run, row.ids_sha256))
    for name, (run, sha256) in sorted(by_name.items()):
        try:
            labels = open_labels(run.card).labels
            drawn = split(labels, run.protocol, run.name.dataset, run.name.protocol)
            chosen = of_first_classes(drawn, labels, run.n_classes)
        except HashbenchError as error:
            say(f"no id lists of {run.name.dataset} {run.name.protocol}: {error}")
            continue
        if chosen.sha256 != sha256:
            say(f"no id lists of {run.name.dataset} {run.name.protocol}: other ids are drawn today than in its rows")
            continue
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        write(path, chosen)
        yield name, path


def _write(path: Path, order: Order, packed: Packed) -> None:
    digests: dict[str, str] = {}
    n_bytes = sum(file.stat().st_size for file in packed.files.values())
    with (
        zipfile.ZipFile(path, "w", zipfile.ZIP_STORED) as bundle,
        bar(f"bundle {packed.spec.name}", "B", n_bytes, scaled=True) as shown,
    ):
        for name, file in sorted(packed.files.items()):
            digest = hashlib.sha256()
            info = _info(order, name, file.stat().st_size)
            with file.open("rb") as source, bundle.open(info, "w") as target:
                while piece := source.read(archive.PIECE):
                    digest.update(piece)
                    target.write(piece)
                    shown.update(len(piece))
            digests[name] = digest.hexdigest()
        manifest = order.manifest(digests).model_dump(by_alias=True, exclude_defaults=True)
        text = json.dumps(manifest, indent=1, sort_keys=True) + "\n"
        bundle.writestr(_info(order, archive.MANIFEST, len(text)), text)


def _info(order: Order, name: str, size_bytes: int) -> zipfile.ZipInfo:
    info = zipfile.ZipInfo(f"{order.folder}/{name}", THE_TIME)
    info.create_system = 3  # Unix, whose modes the next line gives
    info.external_attr = (stat.S_IFREG | 0o644) << 16
    info.file_size = size_bytes
    return info


def _readme(order: Order, packed: Packed) -> str:
    manifest = order.manifest({})
    by = ""
    if manifest.maker:
        by = f" of rows by {escape(manifest.maker)}"
    alone = ""
    if packed.rows_alone:
        alone = ALONE.format(runs="\n".join(f"- `{run}`" for run in packed.rows_alone))
    n_ok = sum(row.status == "ok" for row in packed.rows)
    return README.format(
        title=escape(packed.spec.title),
        m=manifest,
        by=by,
        packages="".join(f" {method} is a method of {package}." for method, package in manifest.packages.items()),
        folder=order.folder,
        n_rows=counted(len(packed.rows), "row"),
        n_runs=counted(n_ok - len(packed.rows_alone), "run"),
        n=packed.n,
        n_lists=counted(packed.n["lists"], "id list"),
        alone=alone,
    )
