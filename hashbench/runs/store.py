"""The store of results: one small immutable JSON file (a row) for each run, and the run's working folder."""

import glob
import json
import re
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any, Literal

from pydantic import Field

from hashbench.codes.distinct import DistinctCodes
from hashbench.foundation import paths
from hashbench.foundation.config import Strict, canonical_json, digest, json_object, parse
from hashbench.foundation.errors import HashbenchError, one_line, printable, unknown
from hashbench.foundation.files import write_text
from hashbench.foundation.provenance import Code
from hashbench.metrics import METRICS, MetricValue

SCHEMA: Literal[1] = 1
ACCURACY = "accuracy"  # of a classifier: no metric of codes, so it is in no catalogue
REMEDY = "delete it and run it again, or restore it from git"
ROW_DIGEST = "row_sha256"  # in a row's file: the digest of all else that the file holds
REPEAT = "~"  # in a file's name, between the run and a digest: the same run with other values, from another machine


class OtherSchema(HashbenchError):  # noqa: N818  (what is found: such a row is not damaged)
    """A row of another schema version than this code reads."""


class Seconds(Strict):
    """Wall time of the parts of a run in seconds; ``train`` includes epochs before a restart."""

    train: float
    encode: float
    score: float


class Arithmetic(Strict):
    """How the encoder of a deep method was computed in training; it changes the rounding and does not name the run."""

    precision: Literal["float32", "bfloat16"]
    compiled: bool
    channels_last: bool
    processes: int


class Row(Strict):
    """The result of one run, and everything needed to reproduce it."""

    schema_version: Literal[1] = Field(alias="schema")
    run: str
    dataset: str
    protocol: str
    method: str
    settings: dict[str, int | float | str | bool]  # the keys the method declares, sorted
    budget: str
    seed: int
    split_seed: int | None = None  # the seed of the split if it is not the protocol's own
    config: dict[str, Any]  # fully resolved
    config_hash: str  # digest of config and seed: part of the run's name
    cell_hash: str  # digest of config without the seed: the same for all runs of a table's cell
    metrics: dict[str, MetricValue]  # the queries search the database
    metrics_of_test: dict[str, MetricValue] = {}  # the queries search each other: sparse codes only
    metrics_weighted: dict[str, MetricValue] = {}  # by weighted Hamming distance: methods that learn weights only
    distinct_codes: DistinctCodes | None = None  # of methods that make codes; older rows have none
    histogram_sha256: str | None
    retrieval_sha256: str | None = None  # of the retrieval from the database: sparse codes only
    retrieval_of_test_sha256: str | None = None  # of the retrieval of the queries from each other
    weights_sha256: str | None = None  # of the file of weights that the run made: classifiers only
    data_sha256: str
    features_sha256: str | None = None  # of the extracted features; None if the method used the items themselves
    ids_sha256: str
    code: Code
    versions: dict[str, str | None]
    hardware: dict[str, str | int | None]
    utc: str
    seconds: Seconds | None
    arithmetic: Arithmetic | None = None  # of deep methods; older rows have none
    status: Literal["ok", "failed"]
    reason: str | None = None  # of a failure


def to_json(row: Row) -> str:
    """The row as one line of JSON, keys sorted."""
    return canonical_json(row.model_dump(by_alias=True))


def file_text(content: dict[str, Any]) -> str:
    """The text of a row's file: the JSON object ``content``, keys sorted, with its own digest among them."""
    signed = {**content, ROW_DIGEST: row_digest(content)}
    return json.dumps(signed, indent=1, sort_keys=True, allow_nan=False) + "\n"


def row_digest(content: dict[str, Any]) -> str:
    """The digest of a row's JSON object ``content``, without the digest in it."""
    return digest(_unsigned(content))


def _unsigned(content: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in content.items() if key != ROW_DIGEST}


@dataclass(frozen=True)
class Store:
    """The results folder."""

    folder: Path

    @staticmethod
    def default() -> "Store":
        """The store in the folder :func:`hashbench.foundation.paths.results`."""
        return Store(paths.results())

    def run_folder(self, run: str) -> Path:
        """The folder of a run's checkpoints, codes, histogram and log."""
        return self.folder / "runs" / run

    def row_path(self, dataset: str, protocol: str, run: str) -> Path:
        """The path of a run's row."""
        return self.folder / "rows" / f"{dataset}-{protocol}" / f"{run}.json"

    def write(self, row: Row) -> Path:
        """Writes the row and returns its path; raises HashbenchError if there is a successful row already."""
        path = self.row_path(row.dataset, row.protocol, row.run)
        if path.exists() and read(path).status == "ok":
            raise HashbenchError(f"{path}: a row is written once; remove the file to measure it again")
        write_text(path, file_text(row.model_dump(by_alias=True)))
        return path

    def seeds_of(self, row: Row) -> list[int]:
        """The seeds of all successful runs of the row's cell on its split, sorted."""
        head, _, _ = row.run.rpartition(f"-s{row.seed}-")
        seeds = {row.seed}
        for path in self.row_path(row.dataset, row.protocol, row.run).parent.glob(f"{glob.escape(head)}-s*.json"):
            with suppress(HashbenchError):  # a damaged row is no seed
                other = read(path)
                if other.status == "ok" and other.cell_hash == row.cell_hash:
                    seeds.add(other.seed)
        return sorted(seeds)

    def find(self, dataset: str, protocol: str, run: str) -> Row | None:
        """The row of a run, or None."""
        path = self.row_path(dataset, protocol, run)
        return read(path) if path.exists() else None

    def rows(self, damaged: Callable[[HashbenchError], None] | None = None) -> Iterator[Row]:
        """All rows, ordered by path, so that tables rendered from them do not depend on the machine.

        ``damaged`` is called with the error of each row that cannot be read, which is left out; without it, the first
        error is raised.
        """
        yield from (row for _, row in self.files(damaged))

    def files(self, damaged: Callable[[HashbenchError], None] | None = None) -> Iterator[tuple[Path, Row]]:
        """As ``rows``, each with the path of its file."""
        for path in self.paths():
            try:
                row = read(path)
            except HashbenchError as error:
                if damaged is None:
                    raise
                damaged(error)
            else:
                yield path, row

    def paths(self) -> list[Path]:
        """The files of all rows, sorted."""
        return sorted((self.folder / "rows").glob("*/*.json"))

    def named(self, run: str) -> Row:
        """The row of the run called ``run``, or of the only run whose name starts so; else raises HashbenchError."""
        return read(self.path_named(run))

    def path_named(self, run: str) -> Path:
        """The path of the row that ``named`` reads."""
        found = self._begun(run)
        if run in found:
            return found[run]
        if len(found) == 1:
            return next(iter(found.values()))
        if found:
            raise HashbenchError(f"run {run!r} is not one but {len(found)}: {', '.join(sorted(found)[:3])} ...")
        raise unknown("run", run, (path.stem for path in self.paths()))

    def has(self, run: str) -> bool:
        """Whether a row file is called exactly so."""
        return run in self._begun(run)

    def begun(self, run: str) -> Iterator[Row]:
        """The readable rows of all runs whose names start with ``run``."""
        for path in self._begun(run).values():
            with suppress(HashbenchError):
                yield read(path)

    def _begun(self, run: str) -> dict[str, Path]:
        """The row files whose names start with ``run``, by name; raises HashbenchError for what is no name.

        A row that is kept beside another one of its run is found by its whole name only.
        """
        if not re.fullmatch(rf"[A-Za-z0-9_.+{REPEAT}-]+", run):
            raise HashbenchError(f"{run!r} is not the name of a run: hashbench train --json prints it")
        found = {path.stem: path for path in (self.folder / "rows").glob(f"*/{run}*.json")}
        return {name: path for name, path in found.items() if REPEAT in run or REPEAT not in name}


def read(path: Path) -> Row:
    """The row in a file; raises HashbenchError, with what to do, if the file is damaged or its values disagree.

    A row of another schema version raises OtherSchema.
    """
    return read_with_content(path)[0]


def read_with_content(path: Path) -> tuple[Row, dict[str, Any]]:
    """The row that ``read`` returns, and the JSON object that the file holds."""
    try:
        if path.exists() and not path.is_file():
            raise ValueError("it is a folder, a pipe or a device")  # noqa: TRY301  (a pipe would be waited for)
        content = json_object(path.read_text(encoding="utf-8"))
        _require_schema(content, path)
        row = parse(Row, _unsigned(content), str(path))
    except OtherSchema:
        raise
    except HashbenchError as error:
        raise HashbenchError(f"{error}: {REMEDY}") from None
    except (OSError, ValueError) as error:
        raise HashbenchError(f"{path}: not a readable row: {one_line(error)}: {REMEDY}") from None
    faults = chain(_contradictions(row, content, path), _out_of_range(row), _edited(content))
    if fault := next(faults, None):
        raise HashbenchError(f"{path}: not a row that hashbench wrote: {fault}: {REMEDY}")
    return row, content


def _require_schema(content: dict[str, Any], path: Path) -> None:
    """Raises OtherSchema if the row says that it is of another schema version."""
    version = content.get("schema")
    if type(version) is int and version != SCHEMA:
        raise OtherSchema(
            f"{path}: a row of schema version {version}; this hashbench reads version {SCHEMA}: use the version of "
            "hashbench that wrote it"
        )


def repeat_name(run: str, content: dict[str, Any]) -> str:
    """The name of the file of a row that is kept beside another row of the same ``run``: it has a digest of the row."""
    return f"{run}{REPEAT}{row_digest(content)[:8]}"


def _contradictions(row: Row, content: dict[str, Any], path: Path) -> Iterator[str]:
    """What disagrees inside the row, or with the name of its file."""
    yield from _wrong_name(row, content, path)
    if f"{row.dataset}-{row.protocol}" != path.parent.name:
        yield f"it is of {printable(f'{row.dataset}-{row.protocol}')}, and the folder is called {path.parent.name}"
    for key in ("dataset", "protocol", "method", "budget"):
        if row.config.get(key) != getattr(row, key):
            yield f"config.{key} is {printable(repr(row.config.get(key)))}, {key} is {printable(getattr(row, key))}"
    if not (isinstance(row.config.get("settings"), dict) and isinstance(row.config.get("data"), dict)):
        yield "config has no settings or no data"
    elif row.split_seed is not None and row.config["data"].get("split", {}).get("seed") != row.split_seed:
        yield f"split_seed is {row.split_seed}, which is not the seed in config.data.split"
    if digest(row.config) != row.cell_hash:
        yield "cell_hash is not the digest of config"
    if digest({**row.config, "seed": row.seed}) != row.config_hash:
        yield "config_hash is not the digest of config and seed"


def _wrong_name(row: Row, content: dict[str, Any], path: Path) -> Iterator[str]:
    """Why the file is not called as the run, or as a row that is kept beside another row of the run."""
    if path.stem.startswith(f"{row.run}{REPEAT}"):
        if path.stem != repeat_name(row.run, content):
            yield f"its digest is not the one in the name of the file, {printable(path.name, 200)}"
    elif row.run != path.stem:
        yield f"run is {printable(row.run)}, and the file is called {path.name}"


def _edited(content: dict[str, Any]) -> Iterator[str]:
    """That the row is another one than was written, by its digest; older rows have none."""
    if ROW_DIGEST in content and content[ROW_DIGEST] != row_digest(content):
        yield f"{ROW_DIGEST} is not the digest of the row: it was edited after it was written"


def _out_of_range(row: Row) -> Iterator[str]:
    """The values that no run can give."""
    for field in ("metrics", "metrics_of_test", "metrics_weighted"):
        for name, value in getattr(row, field).items():
            yield from (f"{field}.{printable(name)}.{fault}" for fault in _faults_of(name, value))
    n_queries = min((value.n_queries for value in row.metrics.values()), default=None)
    if row.distinct_codes and n_queries is not None and row.distinct_codes.queries > n_queries:
        yield f"distinct_codes.queries is {row.distinct_codes.queries} of {n_queries} queries"
    if row.seconds and min(row.seconds.model_dump().values()) < 0:
        yield "seconds are negative"


def _faults_of(name: str, value: MetricValue) -> Iterator[str]:
    """What cannot be in the value of a metric: a mean or a deviation out of range, or more empty queries than all."""
    if not 0 <= value.n_empty <= value.n_queries:
        yield f"n_empty is {value.n_empty} of {value.n_queries} queries"
    for part, number in (("mean", value.mean), ("std", value.std)):
        if number is not None and not 0 <= number <= 1 and (number < 0 or _is_fraction(name)):
            yield f"{part} is {number:g}"


def _is_fraction(metric: str) -> bool:
    """Whether a metric is one of ours with values from 0 to 1: the accuracy, and all metrics but the speed-up."""
    stem = re.split(r"[@(]", metric)[0]
    return stem == ACCURACY or (stem != "suf" and stem in METRICS and METRICS.provider(stem) is None)
