"""What ``hashbench train`` prints: a row, two rows of one run that are compared, or with --dry-run the settings."""

from collections.abc import Iterator, Mapping
from dataclasses import asdict

from typer import Exit, echo

from hashbench.codes.distinct import DistinctCodes
from hashbench.foundation import paths
from hashbench.foundation.config import Setting, as_typed, canonical_json
from hashbench.foundation.errors import printable
from hashbench.foundation.progress import note
from hashbench.metrics import MetricValue, shown
from hashbench.runs.diff import diff_rerun
from hashbench.runs.needs import lines_of, missing_inputs
from hashbench.runs.row import Row, made_by, to_json
from hashbench.runs.run import Run
from hashbench.runs.settings import Sourced
from hashbench.runs.store import Store


def print_row(row: Row, stored: Row | None, store: Store, *, as_json: bool) -> None:
    """Prints the row; if it was trained again, beside the ``stored`` one."""
    if as_json:
        rows = {} if stored is None else {"again": row, "stored": stored}
        values = {key: each.model_dump(by_alias=True) for key, each in rows.items()}
        echo(to_json(row) if stored is None else canonical_json({**values, **asdict(diff_rerun(row, stored))}))
    else:
        echo(f"run   {row.run}")
        scores = (f"{shown(name):28} {_score(value)}" for name, value in row.all_metrics().items())
        for line in scores if stored is None else _compared(row, stored):
            echo(line)
        if row.distinct_codes is not None:
            echo(f"{'distinct codes':28} {distinct_text(row.distinct_codes)}")
        stays = "" if stored is None else " (as it was)"
        echo(f"row   {paths.shown(store.rows_path(row.dataset, row.protocol))}{stays}")
    if row.status == "failed":
        echo(f"error: {row.run}: {row.reason}", err=True)
        raise Exit(2)


def print_settings(
    run: Run, given: Mapping[str, Setting], stored: Row | None, *, as_json: bool, own_weights: bool = False
) -> None:
    """Prints the run's name, whether it is stored, all its settings with their sources, and what is not here.

    With ``own_weights`` the user named the file of the weights that the network starts from.
    """
    missing = [] if stored is not None else missing_inputs([run], weights=not own_weights)[str(run.name)]
    settings, name = run.sources(given), run.name
    names = {"dataset": name.dataset, "protocol": name.protocol, "method": name.method, "budget": name.budget}
    if as_json:
        values = {"run": str(name), "stored": stored is not None, **names}
        values |= {"seed": name.seed, "split_seed": name.split_seed}
        values["missing"] = [asdict(each) for each in missing]
        values["settings"] = {key: asdict(found) for key, found in settings.items()}
        echo(canonical_json(values))
        return
    width = max(map(len, settings))
    facts = {"run": str(name), "stored": "no" if stored is None else f"yes, {made_by(stored)}", **names}
    for key, value in {**facts, "seed": name.seed, "split": split_text(name.split_seed)}.items():
        if value is not None:
            echo(f"{key:{width}}  {value}")
    for key, found in settings.items():
        echo(f"{key:{width}}  {as_typed(found.value):14}  {_source(found)}")
    for line in lines_of(missing) if missing else ():
        note(line)


def _source(found: Sourced) -> str:
    if found.recipe is not None:
        return f"recipe {found.recipe}"
    return f"default: {found.note}" if found.source == "default" and found.note else found.source


def distinct_text(codes: DistinctCodes) -> str:
    return f"{codes.queries:,} of the queries, {codes.database:,} of the database"


def split_text(seed: int | None) -> str | None:
    """Which split a run is on; None for the protocol's own."""
    return None if seed is None else f"drawn with seed {seed}, not the protocol's own"


def _compared(row: Row, stored: Row) -> Iterator[str]:
    compared, before = diff_rerun(row, stored), stored.all_metrics()
    for artefact, is_equal in compared.equal.items():
        yield f"{artefact:28} {'equal' if is_equal else 'not equal to the stored one'}"
    if compared.likely_cause is not None:
        yield f"{'likely cause':28} {printable(compared.likely_cause, 300)}"
    for name, value in row.all_metrics().items():
        if name not in compared.differences:
            text = "not in the stored row"
        elif (difference := compared.differences[name]) == 0:
            text = "equal"
        else:
            by = "one of them has no mean" if difference is None else f"differs by {difference:+.2g}"
            text = f"stored {_score(before[name])}, {by}"
        yield f"{shown(name):28} {_score(value):6}  {text}"


def _score(value: MetricValue) -> str:
    return "" if value.mean is None else f"{value.mean:.4f}"
