"""Codes in the form of systems that search them: a file a system, listed in ``TARGETS``."""

from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from string import Template

import numpy as np

from hashbench import __version__
from hashbench.codes import Codes
from hashbench.codes.files import Explicit, Ids, file_meant, ids_in, load_codes, load_database, parted
from hashbench.export.codes import faiss, milvus, numpy, pgvector, sentence_transformers, sqlite_vec, usearch
from hashbench.export.codes._target import Target
from hashbench.foundation.errors import HashbenchError, unknown
from hashbench.foundation.files import all_or_none, atomic, require_new, require_writable, write_text
from hashbench.foundation.progress import note
from hashbench.runs.command import PROGRAM
from hashbench.runs.data import split_of
from hashbench.runs.guard import codes_file
from hashbench.runs.row import Row
from hashbench.runs.store import Store

__all__ = ["README", "TARGETS", "Target", "export_codes", "write_codes"]

TARGETS = {
    "faiss": faiss.TARGET,
    "milvus": milvus.TARGET,
    "numpy": numpy.TARGET,
    "pgvector": pgvector.TARGET,
    "sentence-transformers": sentence_transformers.TARGET,
    "sqlite-vec": sqlite_vec.TARGET,
    "usearch": usearch.TARGET,
}
README, ITEM_IDS = "README.md", "ids.npy"
TEXT = """# $n codes of $bits bits for $target

Written by hashbench $version from $source.

- `$file`: $about.
- The id of a code is its row in the database of $source, from 0, as `hashbench search` prints it$items
- $form
$before
## Search

`pip install numpy $needs`, and the codes of your queries: `hashbench encode RUN ITEMS --out queries.npz`

```python
import numpy as np

queries = np.load("queries.npz")["codes"]  # [q, $bits], 0 and 1
packed = np.packbits(queries, axis=1)
$example```
"""
WITH_ITEMS = """, and no id of the data set:
  `np.load("ids.npy")[ids]` are the ids of these items there."""
WITHOUT_ITEMS = "; it is no id of a data set."
PACKED = "Bits are packed as by `numpy.packbits(bits, axis=1)`: bit 0 is the highest of the first byte."
PADDED = (
    " A code of $bits bits takes $stored_bits: the last $n_padded are 0 in codes and queries, and change no distance."
)


def export_codes(
    source: str, target: str, folder: Path, *, explicit: Explicit, program: Sequence[str] = PROGRAM
) -> list[Path]:
    """Writes the codes of the database of ``source``, a run or FILE[:KEY], for ``target``; returns the files.

    ``program`` are the first words of a command that an error names. HashbenchError for an unknown target, a missing
    extra, a ``folder`` that holds files, and for what cannot be read as codes; then nothing is written.
    """
    if target not in TARGETS:
        raise unknown("target", target, TARGETS)
    require_new(folder)
    file = file_meant(str(parted(source)[0]))
    if file is None:
        store = Store.default()
        row = store.named(source)
        path = codes_file(row, store, program)
        _, codes, notes = load_codes(path, explicit=explicit)
        origin = f"the run `{row.run}`"
        item_ids, notes_on_ids = _item_ids(row, path, len(codes))
        notes += notes_on_ids
    else:
        codes, notes = load_database(source, explicit=explicit)
        origin = f"`{source}`"
        path = parted(source)[0]
        item_ids = ids_in(path, len(codes)) if path.is_file() else None
    for line in notes:
        note(f"note: {line}")
    return write_codes(codes, target, folder, origin, item_ids)


def _item_ids(row: Row, path: Path, n_items: int) -> tuple[Ids | None, list[str]]:
    """The ids in the data set of the database of a run, whose codes are in ``path``; None and a note where unknown."""
    ids = ids_in(path, n_items)
    if ids is not None:
        return ids, []
    try:
        return split_of(row)[1].database_ids, []
    except HashbenchError as fault:
        return None, [f"{ITEM_IDS}, the ids of the items in the data set, is not written: {fault}"]


def write_codes(codes: Codes, name: str, folder: Path, source: str, item_ids: Ids | None = None) -> list[Path]:
    """Writes ``codes`` for the target called ``name``, and a README, into ``folder``: all of it or nothing.

    ``item_ids`` [n] are the ids of the items in their data set, which get a file of their own.
    """
    target, is_new = TARGETS[name], not folder.exists()
    paths = [folder / target.file, folder / README]
    if item_ids is not None:
        paths.append(folder / ITEM_IDS)
    require_writable(folder, instead="--out")
    try:
        with all_or_none():
            with atomic(paths[0]) as temporary:
                target.write(codes, temporary)
            write_text(paths[1], readme(codes, name, source, has_item_ids=item_ids is not None))
            if item_ids is not None:
                with atomic(paths[2]) as temporary, temporary.open("wb") as file:
                    np.save(file, item_ids)
    except BaseException:
        if is_new:
            with suppress(OSError):
                folder.rmdir()
        raise
    return paths


def readme(codes: Codes, name: str, source: str, *, has_item_ids: bool) -> str:
    """The text of the README: what the file is, how bits lie in it, and a search by the target's own library."""
    target, n_bits = TARGETS[name], codes.n_bits
    stored_bits = 8 * -(-n_bits // 8)
    sizes = {"bits": n_bits, "stored_bits": stored_bits, "n_padded": stored_bits - n_bits, "file": target.file}
    form = "Each bit is a character, and nothing is padded."
    if target.padded:
        form = PACKED if n_bits == stored_bits else PACKED + Template(PADDED).substitute(sizes)
    about, before, example = (
        Template(part).substitute(sizes) for part in (target.about, target.before, target.example)
    )
    made_by = {"n": f"{len(codes):,}", "target": name, "version": __version__, "source": source, "needs": target.needs}
    texts = {"about": about, "before": before, "example": example, "form": form}
    texts["items"] = WITH_ITEMS if has_item_ids else WITHOUT_ITEMS
    return Template(TEXT).substitute(sizes, **texts, **made_by)
