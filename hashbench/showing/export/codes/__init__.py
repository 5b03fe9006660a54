"""Codes in the form of systems that search them: a file a system, listed in ``TARGETS``."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from string import Template
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hashbench import __version__
from hashbench.foundation.errors import HashbenchError, unknown
from hashbench.foundation.progress import note
from hashbench.running.runs.data import split_of
from hashbench.running.runs.guard import codes_file
from hashbench.running.runs.row import Row
from hashbench.running.runs.store import Store
from hashbench.scoring.codes import Codes
from hashbench.scoring.codes.files import (
    BIT_WEIGHTS,
    Explicit,
    arrays_in,
    file_meant,
    ids_in,
    load_codes,
    load_database,
    names_in,
    parted,
)
from hashbench.showing.export.codes import faiss, milvus, numpy, pgvector, sentence_transformers, sqlite_vec, usearch
from hashbench.showing.export.codes._target import Target, table_of
from hashbench.showing.export.folder import whole_folder

__all__ = ["README", "TARGETS", "Target", "export_codes"]

TARGETS = {
    "faiss": faiss.TARGET,
    "milvus": milvus.TARGET,
    "numpy": numpy.TARGET,
    "pgvector": pgvector.TARGET,
    "sentence-transformers": sentence_transformers.TARGET,
    "sqlite-vec": sqlite_vec.TARGET,
    "usearch": usearch.TARGET,
}
README = "README.md"
IDS = "ids.npy"
NAMES = "names.npy"
TEXT = """# $n codes of $bits bits for $target

Written by hashbench $version from $title.

- `$file`: $about.
- The id of a code is its row in the database of $title, from 0, as `hashbench search` prints it$items.
- $form
$before
## Search

`pip install $needs`, and the codes of your queries: `hashbench encode $run ITEMS --out queries.npz`

```python
import numpy as np

queries = np.load("queries.npz")["codes"]  # [q, $bits], 0 and 1
packed = np.packbits(queries, axis=1)
$example```
"""
BESIDE = {
    IDS: """, and no id of the data set:
  `np.load("ids.npy")[ids]` are the ids of these items there""",
    NAMES: """;
  `np.load("names.npy")[ids]` are the names of these items""",
}
WITHOUT_IDS = "; it is no id of a data set"
PACKED = "Bits are packed as by `numpy.packbits(bits, axis=1)`: bit 0 is the highest of the first byte."
PADDED = (
    " A code of $bits bits takes $stored_bits: the last $n_padded are 0 in codes and queries, and change no distance."
)
WEIGHTED = " The learned weights of the bits are left out: each bit counts 1 in a distance."


@dataclass(frozen=True)
class Database:
    """The codes of a run, or of a file, and what a README says of them."""

    codes: Codes
    title: str  # what they are from, in Markdown
    name: str  # of the run, or the stem of the file
    run: str = "RUN"  # that encodes queries, where it is known
    beside: Mapping[str, NDArray[Any]] = field(default_factory=dict)  # file name -> an array [n] about the items
    is_weighted: bool = False  # whether weights of its bits were learned


def export_codes(source: str, target: str, folder: Path, *, explicit: Explicit, program: Sequence[str]) -> list[Path]:
    """Writes the codes of the database of ``source``, a run or FILE[:KEY], for ``target``; returns the files.

    ``program`` are the first words of a command that an error names. HashbenchError for an unknown target, a missing
    extra, a ``folder`` that holds files, and for what cannot be read as codes; then nothing is written.
    """
    if target not in TARGETS:
        raise unknown("target", target, TARGETS)
    path, _ = parted(source)
    if file_meant(str(path)) is None:
        store = Store.default()
        row = store.named(source)
        database, notes = _of_run(row, codes_file(row, store, program), explicit)
    else:
        codes, notes = load_database(source, explicit=explicit)
        beside = _beside(path, len(codes))
        database = Database(codes, f"`{source}`", path.stem, beside=beside, is_weighted=_has_weights(path))
    for line in notes:
        note(f"note: {line}")
    return write_codes(database, target, folder)


def _of_run(row: Row, path: Path, explicit: Explicit) -> tuple[Database, list[str]]:
    """The database of a run, whose codes are in ``path``, and notes: where it is not here, on what is not written."""
    _, codes, notes = load_codes(path, explicit=explicit)
    beside = _beside(path, len(codes))
    try:
        dataset, split = split_of(row)
    except HashbenchError as fault:
        if IDS not in beside:
            notes.append(f"{IDS}, the ids of the items in the data set, is not written: {fault}")
    else:
        ids = split.database_ids
        beside.setdefault(IDS, ids)
        if dataset.names is not None:
            beside[NAMES] = np.array([os.fsdecode(name) for name in dataset.names[ids].tolist()])
    return Database(codes, f"the run `{row.run}`", row.run, row.run, beside, _has_weights(path)), notes


def _has_weights(path: Path) -> bool:
    return path.is_file() and BIT_WEIGHTS in arrays_in(path)


def _beside(path: Path, n_items: int) -> dict[str, NDArray[Any]]:
    """The ids and the names of the items of the database in the file at ``path``, where it has them."""
    if not path.is_file():
        return {}
    arrays = {IDS: ids_in(path, n_items), NAMES: names_in(path, n_items)}
    return {file: array for file, array in arrays.items() if array is not None}


def write_codes(database: Database, name: str, folder: Path) -> list[Path]:
    """Writes the codes for the target called ``name``, and a README, into ``folder``: all of it or nothing."""
    target = TARGETS[name]
    with whole_folder(folder) as part:
        target.write(database.codes, part / target.file, table_of(database.name, database.codes))
        (part / README).write_text(readme(database, name), encoding="utf-8")
        for file, array in database.beside.items():
            np.save(part / file, array, allow_pickle=False)
    return [folder / file for file in (target.file, README, *database.beside)]


def readme(database: Database, name: str) -> str:
    """The text of the README: what the file is, how bits lie in it, and a search by the target's own library."""
    target = TARGETS[name]
    codes = database.codes
    stored_bits = 8 * -(-codes.n_bits // 8)
    form = "Each bit is a character, and nothing is padded."
    if target.padded:
        form = PACKED
        if codes.n_bits < stored_bits:
            form += PADDED
    if database.is_weighted:
        form += WEIGHTED
    facts = {
        "bits": codes.n_bits,
        "stored_bits": stored_bits,
        "n_padded": stored_bits - codes.n_bits,
        "file": target.file,
        "table": table_of(database.name, codes),
        "n": f"{len(codes):,}",
        "k": min(10, len(codes)),
        "target": name,
        "version": __version__,
        "title": database.title,
        "run": database.run,
        "needs": target.needs,
        "items": "".join(BESIDE[file] for file in database.beside) or WITHOUT_IDS,
    }
    parts = {"about": target.about, "before": target.before, "example": target.example, "form": form}
    filled = {part: Template(text).substitute(facts) for part, text in parts.items()}
    return Template(TEXT).substitute(facts | filled)
