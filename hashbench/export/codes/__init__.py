"""Codes in the form of systems that search them: a file a system, listed in ``TARGETS``."""

from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from string import Template

from hashbench import __version__
from hashbench.codes import Codes
from hashbench.codes.files import Explicit, file_meant, load_codes, load_database, parted
from hashbench.export.codes import faiss, milvus, numpy, pgvector, sentence_transformers, sqlite_vec, usearch
from hashbench.export.codes._target import Target
from hashbench.foundation.errors import unknown
from hashbench.foundation.files import all_or_none, atomic, require_new, require_writable, write_text
from hashbench.foundation.progress import note
from hashbench.runs.command import PROGRAM
from hashbench.runs.guard import codes_file
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
README = "README.md"
TEXT = """# $n codes of $bits bits for $target

Written by hashbench $version from $source.

- `$file`: $about.
- The id of a code is its row in the database, from 0, as `hashbench search` prints it.
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
        _, codes, notes = load_codes(codes_file(store.named(source), store, program), explicit=explicit)
        origin = f"the run `{source}`"
    else:
        codes, notes = load_database(source, explicit=explicit)
        origin = f"`{source}`"
    for line in notes:
        note(f"note: {line}")
    return write_codes(codes, target, folder, origin)


def write_codes(codes: Codes, name: str, folder: Path, source: str) -> list[Path]:
    """Writes ``codes`` for the target called ``name``, and a README, into ``folder``: all of it or nothing."""
    target, is_new = TARGETS[name], not folder.exists()
    paths = [folder / target.file, folder / README]
    require_writable(folder, instead="--out")
    try:
        with all_or_none():
            with atomic(paths[0]) as temporary:
                target.write(codes, temporary)
            write_text(paths[1], readme(codes, name, source))
    except BaseException:
        if is_new:
            with suppress(OSError):
                folder.rmdir()
        raise
    return paths


def readme(codes: Codes, name: str, source: str) -> str:
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
    return Template(TEXT).substitute(sizes, about=about, before=before, example=example, form=form, **made_by)
