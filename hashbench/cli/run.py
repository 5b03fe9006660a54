"""``hashbench run``: the missing cells of tables."""

from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from hashbench.grid import Plan


def command(
    tables: Annotated[list[str], typer.Argument(metavar="TABLE...", help="hashbench list tables")],
    seeds: Annotated[int, typer.Option(min=1, help="Runs a cell: seeds 0 .. SEEDS - 1.")] = 1,
    jobs: Annotated[int, typer.Option(min=1, help="Cells run at a time.")] = 1,
    device: Annotated[str, typer.Option(help="auto, cpu, cuda or cuda:N.")] = "auto",
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Say what would be run, and stop.")] = False,
) -> None:
    """Run every cell that is not measured yet; a killed grid continues with the same command."""
    from tqdm import tqdm

    from hashbench import grid
    from hashbench.experiment import Options
    from hashbench.results import Store
    from hashbench.tables import spec

    store = Store.default()
    plans = [grid.plan(spec.load(table), seeds) for table in tables]
    wanted = list({e.run: e for plan in plans for e in plan.experiments}.values())
    todo = grid.missing(wanted, store)
    _explain(plans)
    typer.echo(f"{len(wanted)} runs, {len(wanted) - len(todo)} done, {len(todo)} to do", err=True)
    if dry_run:
        for experiment in todo:
            typer.echo(experiment.run)
        return
    options = Options(device=device, progress=jobs == 1)
    failed = 0
    bar = tqdm(total=len(todo), unit="run", desc=" ".join(tables))
    for row in grid.run_all(todo, store, options, jobs):
        bar.update()
        if row.status == "failed":
            failed += 1
            bar.write(f"failed: {row.run}: {row.reason}")
        else:
            bar.set_postfix_str(f"{row.method} {row.settings['bits']} bits: ap {row.metrics['ap'].mean or 0:.3f}")
    bar.close()
    if failed:
        typer.echo(f"error: {failed} of {len(todo)} runs failed: hashbench status tells why", err=True)
        raise typer.Exit(1)


def _explain(plans: "list[Plan]") -> None:
    for plan in plans:
        for cell, reason in plan.unavailable.items():
            typer.echo(f"left out: {cell}: {reason}", err=True)
