"""The counts that rows were scored from, in ``results/evidence``: half as large as in ``results/runs``, and committed.

A file is named by the checksum in its row, so the runs of a method that ignores its seed share one.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from hashbench.bundle import archive
from hashbench.bundle.arrays import read_counts
from hashbench.foundation.errors import HashbenchError
from hashbench.histogram import Histogram
from hashbench.histogram.retrieval import Retrieval
from hashbench.runs.row import Artefact, Row
from hashbench.runs.store import Store


@dataclass
class Collected:
    """The files that ``collect`` wrote, the runs whose counts are in ``results/evidence`` now, and the other runs."""

    written: list[Path] = field(default_factory=list)
    kept: list[str] = field(default_factory=list)
    without: list[str] = field(default_factory=list)


def collect(rows: Iterable[Row], store: Store, say: Callable[[str], object]) -> Collected:
    """Writes the counts of successful ``rows`` that are in ``results/runs`` and have the checksums of their rows.

    ``say`` gets a line about each run whose counts there are those of another training.
    """
    found = Collected()
    for row in rows:
        if row.status != "ok":
            continue
        for artefact in artefacts(row):
            target, source = store.evidence_path(row, artefact), store.run_folder(row.run) / f"{artefact}.npz"
            if target.is_file() or not source.is_file():
                continue
            counts = read_counts(source)
            if counts.sha256() == row.artefacts[artefact]:
                counts.save(target)
                found.written.append(target)
            else:
                say(f"{row.run}: {artefact} not kept: {source} is of another training than the row")
        is_kept = all(store.evidence_path(row, artefact).is_file() for artefact in artefacts(row))
        (found.kept if is_kept else found.without).append(row.run)
    return found


def artefacts(row: Row) -> Iterator[Artefact]:
    """The counts whose checksums are in the row."""
    return (artefact for artefact in row.artefacts if f"{artefact}.npz" in archive.STATED)


def unpack(row: Row, artefact: Artefact, store: Store, folder: Path) -> Path | None:
    """Writes the counts of the row into ``folder`` as a run does; None if they are not in ``results/evidence``."""
    source, target = store.evidence_path(row, artefact), folder / f"{artefact}.npz"
    if not source.is_file():
        return None
    counts = (Retrieval if artefact.startswith("retrieval") else Histogram).load(source)
    if counts.sha256() != row.artefacts[artefact]:
        raise HashbenchError(f"{source}: its SHA-256 is not its name: restore it from git")
    counts.save(target)
    return target
