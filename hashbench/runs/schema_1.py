"""Rows of schema 1, each a JSON file of its own, DATASET-PROTOCOL/RUN.json, as hashbench 0.1 wrote and bundled them."""

from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import Any

from hashbench.foundation.config import digest
from hashbench.foundation.errors import HashbenchError, one_line, printable
from hashbench.runs.row import (
    REMEDY,
    SCHEMA,
    Row,
    content_of,
    contradictions,
    from_content,
    not_written,
    out_of_range,
)

SEARCHES = {"metrics": "database", "metrics_weighted": "weighted", "metrics_of_test": "test"}
ARTEFACTS = ("histogram", "retrieval", "retrieval_of_test", "weights")


def files(rows: Path) -> list[Path]:
    """The rows of schema 1 in a folder called rows, sorted."""
    return sorted(rows.glob("*/*.json"))


def read(path: Path) -> Row:
    """The row in a file; raises HashbenchError, with what to do, if it is damaged or its values disagree."""
    try:
        if path.exists() and not path.is_file():
            raise ValueError("it is a folder, a pipe or a device")  # noqa: TRY301  (a pipe would be waited for)
        text = path.read_text(encoding="utf-8")
    except (OSError, ValueError) as error:
        raise HashbenchError(f"{path}: not a readable row: {one_line(error)}: {REMEDY}") from None
    content = content_of(text, 1, str(path))
    stated = content.pop("row_sha256", None)  # the oldest rows have none
    edited = stated is not None and stated != digest(content)
    row = from_content(converted(content), str(path))
    faults = chain(_wrong_name(row, stated, path), contradictions(row, path.parent.name), out_of_range(row))
    if fault := next(faults, "row_sha256 is not its digest: it was edited after it was written" if edited else None):
        raise not_written(str(path), fault)
    return row


def converted(content: dict[str, Any]) -> dict[str, Any]:
    """The JSON object of a row of schema 1, without its digest, as one of schema 2; every value is kept."""
    new = dict(content)
    searches = {search: new.pop(key, {}) for key, search in SEARCHES.items()}
    sums = {name: new.pop(f"{name}_sha256", None) for name in ARTEFACTS}
    new["searches"] = {search: values for search, values in searches.items() if values}
    new["artefacts"] = {name: value for name, value in sums.items() if value is not None}
    return {**new, "schema": SCHEMA} if "schema" in new else new


def _wrong_name(row: Row, stated: Any, path: Path) -> Iterator[str]:
    """Why the file is not called as the run, or as a row that is kept beside another row of the run."""
    run, _, beside = path.stem.partition("~")
    if row.run != run:
        yield f"run is {printable(row.run)}, and the file is called {printable(path.name, 200)}"
    elif beside and beside != str(stated)[:8]:
        yield f"its digest is not the one in the name of the file, {printable(path.name, 200)}"
