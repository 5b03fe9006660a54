"""What ``hashbench list settings --table NAME`` prints."""

import typer

from hashbench.foundation.errors import HashbenchError


def show(table: str | None, *, markdown: bool, as_json: bool) -> None:
    """Prints the settings of the runs of a table beside those that the authors released."""
    from hashbench.cli._columns import in_columns
    from hashbench.foundation.config import canonical_json
    from hashbench.tables import render_settings, spec
    from hashbench.tables.settings import settings_of_table

    if table is None:
        raise HashbenchError("which table? hashbench list settings --table NAME: hashbench list tables")
    declared = spec.load(table)
    runs = settings_of_table(declared)
    if as_json:
        typer.echo(canonical_json({"table": declared.name, "runs": [render_settings.as_values(each) for each in runs]}))
    elif markdown:
        typer.echo(render_settings.render_markdown(declared, runs), nl=False)
    else:
        parts = [
            "\n".join(
                [
                    each.title,
                    *in_columns(((f"recipe {name}", why) for name, why in each.recipes().items()), "  "),
                    *in_columns(render_settings.lines(each), "  "),
                ]
            )
            for each in runs
        ]
        typer.echo("\n\n".join(parts))
