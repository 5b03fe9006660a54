"""``hashbench eval --shards``: the scores of a database in many files."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from hashbench.foundation.errors import HashbenchError

if TYPE_CHECKING:
    from hashbench.codes import Codes
    from hashbench.codes.files import Explicit
    from hashbench.evaluation.count_shards import How
    from hashbench.evaluation.shard_total import Total
    from hashbench.evaluation.shards import Shard, Source

MOST_NOTES = 3  # of those about shards, in the terminal


def refuse(needs_all: Mapping[str, object], explicit: "Explicit") -> None:
    """Raises HashbenchError if an option is given that needs all items at once, or that names another database."""
    if options := [option for option, given in needs_all.items() if given]:
        raise HashbenchError(
            f"{', '.join(options)}: the whole database would be needed at once, and --shards counts it in parts: "
            "score one file of all items"
        )
    roles = ("database_codes", "database_labels", "query_ids", "database_ids")
    if options := [f"--{role.replace('_', '-')}" for role in roles if getattr(explicit, role)]:
        raise HashbenchError(f"{', '.join(options)}: with --shards the shards are the database: leave it out")


def refuse_alone(options: Mapping[str, object]) -> None:
    """Raises HashbenchError if an option is given that belongs to --shards."""
    if alone := [option for option, given in options.items() if given]:
        raise HashbenchError(f"{', '.join(alone)}: of a database in several files: name them with --shards 'PATTERN'")


def counted(
    pattern: str, labels: str | None, source: "Source", how: "How", outputs: Sequence[Path]
) -> "tuple[Total, Codes]":
    """The total of the shards, and the codes of the queries; prints the notes about them."""
    from hashbench.evaluation.count_shards import count_shards

    total, query = count_shards(source, _shards(pattern, labels, how, outputs), how)
    for note in _shown(total.notes):
        typer.echo(f"note: {note}", err=True)
    return total, query


def _shards(pattern: str, labels: str | None, how: "How", outputs: Sequence[Path]) -> "list[Shard]":
    """The shards; raises HashbenchError if there is none, or if an output would replace one."""
    from hashbench.evaluation.shards import shards_of
    from hashbench.foundation.files import resolved

    if how.ray is not None and how.jobs > 1:
        raise HashbenchError("--jobs with --ray: the cluster counts as many as fit: leave one of them out")
    if how.append and how.counts is None:
        raise HashbenchError("--append needs --counts FILE, which holds the shards that are finished")
    shards = shards_of(pattern, labels, how.counts)
    inputs = {resolved(path) for shard in shards for path in shard.paths}
    if taken := [path for path in outputs if resolved(path) in inputs]:
        raise HashbenchError(f"{taken[0]}: is one of the shards: name another file to be written")
    return shards


def _shown(notes: Sequence[str]) -> list[str]:
    """The notes that are printed: each shard may have its own."""
    more = len(notes) - MOST_NOTES
    return [*notes[:MOST_NOTES], *([f"{more:,} more such notes: --json has all"] if more > 0 else [])]
