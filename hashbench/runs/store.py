"""The store of results: one small immutable JSON file (a row) for each run, and the run's working folder."""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from pydantic import Field

from hashbench import paths
from hashbench.config import Strict, canonical_json, parse
from hashbench.errors import HashbenchError, unknown
from hashbench.files import write_text
from hashbench.metrics import MetricValue

SCHEMA: Literal[1] = 1


class Code(Strict):
    """The version of the code that made a row, from the package's own source tree (not the current folder)."""

    version: str
    commit: str | None  # null where the package was installed without its repository
    dirty: bool | None


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
    config: dict[str, Any]  # fully resolved
    config_hash: str  # digest of config and seed: part of the run's name
    cell_hash: str  # digest of config without the seed: the same for all runs of a table's cell
    metrics: dict[str, MetricValue]  # the queries search the database
    metrics_of_test: dict[str, MetricValue] = {}  # the queries search each other: sparse codes only
    metrics_weighted: dict[str, MetricValue] = {}  # by weighted Hamming distance: methods that learn weights only
    histogram_sha256: str | None
    retrieval_sha256: str | None = None  # of the retrieval from the database: sparse codes only
    retrieval_of_test_sha256: str | None = None  # of the retrieval of the queries from each other
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


@dataclass(frozen=True)
class Store:
    """The results folder."""

    folder: Path

    @staticmethod
    def default() -> "Store":
        """The store in the folder :func:`hashbench.paths.results`."""
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
        text = json.dumps(row.model_dump(by_alias=True), indent=1, sort_keys=True, allow_nan=False)
        write_text(path, text + "\n")
        return path

    def find(self, dataset: str, protocol: str, run: str) -> Row | None:
        """The row of a run, or None."""
        path = self.row_path(dataset, protocol, run)
        return read(path) if path.exists() else None

    def rows(self) -> Iterator[Row]:
        """All rows, ordered by path, so that tables rendered from them do not depend on the machine."""
        for path in sorted((self.folder / "rows").glob("*/*.json")):
            yield read(path)

    def named(self, run: str) -> Row:
        """The row of the run called ``run``, or of the only run whose name starts so; else raises HashbenchError."""
        if not re.fullmatch(r"[A-Za-z0-9_.+-]+", run):
            raise HashbenchError(f"{run!r} is not the name of a run: hashbench train --json prints it")
        found = {path.stem: path for path in (self.folder / "rows").glob(f"*/{run}*.json")}
        if run in found:
            return read(found[run])
        if len(found) == 1:
            return read(next(iter(found.values())))
        if found:
            raise HashbenchError(f"run {run!r} is not one but {len(found)}: {', '.join(sorted(found)[:3])} ...")
        raise unknown("run", run, (path.stem for path in (self.folder / "rows").glob("*/*.json")))


def read(path: Path) -> Row:
    """The row in a file; raises HashbenchError if the file is damaged."""
    try:
        values = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise HashbenchError(f"{path}: not a readable row: {error}") from None
    if not isinstance(values, dict):
        raise HashbenchError(f"{path}: not a row: an object was expected")
    return parse(Row, values, str(path))
