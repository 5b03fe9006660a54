"""What ``hashbench train`` prints of a row, or of two rows of one run that are compared."""

from collections.abc import Iterator
from dataclasses import asdict

import typer

from hashbench.codes.distinct import DistinctCodes
from hashbench.foundation import paths
from hashbench.foundation.config import canonical_json
from hashbench.foundation.errors import printable
from hashbench.metrics import MetricValue
from hashbench.runs.diff import diff_rerun
from hashbench.runs.row import Row, to_json
from hashbench.runs.store import Store


def show(row: Row, stored: Row | None, store: Store, *, as_json: bool) -> None:
    """Prints the row; if it was trained again, beside the ``stored`` one."""
    if as_json:
        typer.echo(to_json(row) if stored is None else _compared_json(row, stored))
    else:
        typer.echo(f"run   {row.run}")
        for line in _scores(row) if stored is None else _compared(row, stored):
            typer.echo(line)
        if row.distinct_codes is not None:
            typer.echo(f"{'distinct codes':28} {distinct_text(row.distinct_codes)}")
        stays = "" if stored is None else " (as it was)"
        typer.echo(f"row   {paths.shown(store.rows_path(row.dataset, row.protocol))}{stays}")
    if row.status == "failed":
        typer.echo(f"error: {row.run}: {row.reason}", err=True)
        raise typer.Exit(2)


def distinct_text(codes: DistinctCodes) -> str:
    """How many distinct codes there are."""
    return f"{codes.queries:,} of the queries, {codes.database:,} of the database"


def split_text(seed: int | None) -> str | None:
    """Which split a run is on; None for the protocol's own."""
    return None if seed is None else f"drawn with seed {seed}, not the protocol's own"


def _scores(row: Row) -> Iterator[str]:
    """A line for each metric of the row."""
    for name, value in row.all_metrics().items():
        yield f"{name:28} {_score(value)}"


def _compared(row: Row, stored: Row) -> Iterator[str]:
    """A line for each metric of the row that says how it differs from the ``stored`` one."""
    compared, before = diff_rerun(row, stored), stored.all_metrics()
    for artefact, is_equal in compared.equal.items():
        yield f"{artefact:28} {'equal' if is_equal else 'not equal to the stored one'}"
    if compared.likely_cause is not None:
        yield f"{'likely cause':28} {printable(compared.likely_cause, 300)}"
    for name, value in row.all_metrics().items():
        if name not in compared.differences:
            said = "not in the stored row"
        elif compared.differences[name] == 0:
            said = "equal"
        else:
            said = f"stored {_score(before[name])}, {_signed(compared.differences[name])}"
        yield f"{name:28} {_score(value):6}  {said}"


def _compared_json(row: Row, stored: Row) -> str:
    compared = diff_rerun(row, stored)
    rows = {"again": row.model_dump(by_alias=True), "stored": stored.model_dump(by_alias=True)}
    return canonical_json({**rows, **asdict(compared)})


def _score(value: MetricValue) -> str:
    return "" if value.mean is None else f"{value.mean:.4f}"


def _signed(difference: float | None) -> str:
    return "one of them has no mean" if difference is None else f"differs by {difference:+.2g}"
