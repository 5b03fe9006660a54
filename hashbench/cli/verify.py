"""``hashbench verify`` scores the rows of a bundle again and compares every value."""

from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

from typer import Argument

from hashbench.cli._command import Answer, lines
from hashbench.foundation.errors import CheckFailed, counted, printable
from hashbench.showing.bundle.archive import Manifest
from hashbench.showing.bundle.verify import Report, verify


def command(
    bundle: Annotated[Path, Argument(help="The archive that hashbench bundle wrote.")],
) -> Answer:
    """Check a bundle: compute every metric again from the packed histograms and codes, and compare it with its row.

    Checksums, names and digests of rows, histograms, codes and id lists are checked. Nothing of the archive is trusted,
    unpickled or written but into a temporary folder. The last line says how many runs were scored again. Exit code 0:
    no difference; 1: a line for each, or no run could be scored; 2: not a bundle.
    """
    manifest, report = verify(bundle)
    values = {"bundle": str(bundle), "table": manifest.table, **asdict(report)}
    error = None
    if n := len(report.differences):
        error = CheckFailed(f"{bundle}: {counted(n, 'difference')}")
    elif len(report.not_scored) == report.n_runs:
        remedy = "the rows alone were checked; pack histograms or codes with them"
        error = CheckFailed(f"{bundle}: no run was scored again: {remedy}")
    return Answer(lines(_lines(manifest, report), lambda: values), error=error)


def _lines(manifest: Manifest, report: Report) -> Iterator[str]:
    of_maker = f", rows of {manifest.maker}" if manifest.maker else ""
    yield f"table {manifest.table}, packed by hashbench {printable(manifest.code.version)}{of_maker}"
    yield f"{counted(report.n_files, 'file')}, {counted(report.n_rows, 'row')}, {counted(report.n_id_lists, 'id list')}"
    yield f"{counted(report.n_values, 'metric')} computed again, codes of {counted(report.n_codes, 'run')} counted"
    yield from (f"not checked: {line}" for line in report.not_checked)
    yield from (f"difference: {line}" for line in report.differences)
    differences = "no difference"
    if report.differences:
        differences = counted(len(report.differences), "difference")
    n_scored = report.n_runs - len(report.not_scored)
    yield f"{differences}; {n_scored:,} of {counted(report.n_runs, 'run')} scored again"
