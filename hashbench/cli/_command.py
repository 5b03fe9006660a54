"""A command as a form: what it returns is printed here, by the options --format and --json, which it does not name."""

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import wraps
from inspect import Parameter, signature
from typing import Annotated, Any

from typer import Option, Typer, echo
from typer.core import TyperCommand

from hashbench.cli._moved import options_of_today
from hashbench.cli._terminal import print_sheet
from hashbench.foundation.errors import HashbenchError
from hashbench.foundation.paths import same_folders
from hashbench.showing.ink import Format
from hashbench.showing.sheet import Code, Sheet

PANEL = "Output"
WORDS = {
    "str": "NAME",
    r"list\[str\]": "NAME",
    "int": "N",
    "float": "X",
    "path": "PATH",
}  # of the types of values in a help
REMARKS = re.compile(r" *\[((?:default: |required|env var: |[^\]]*x[<>]).*)\]$")
FOR_PEOPLE = ("text", "markdown")
FORMATS = "text, markdown, latex, html, csv, json"
Output = Annotated[Format, Option("--format", metavar="FORMAT", help=FORMATS, rich_help_panel=PANEL)]
AsJson = Annotated[bool, Option("--json", help="The same as --format json.", rich_help_panel=PANEL)]


@dataclass(frozen=True)
class Answer:
    """A sheet, and what its command says besides.

    ``after`` are lines below the sheet, such as the files that were written: on stderr where a format for programs is
    asked for. ``error`` is raised when all is printed. The title is a heading of ``level``, and ``ink`` is the format
    where it is not that of the command.
    """

    sheet: Sheet
    after: Sequence[str] = ()
    error: HashbenchError | None = None
    level: int = 2
    ink: Format | None = None


class Command(TyperCommand):
    """A command whose help shows its options in groups, those that ``rich_help_panel`` names after all others."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parses the arguments, with today's options in place of former ones."""
        _, _, command = str(ctx.command_path).partition(" ")
        return super().parse_args(ctx, options_of_today(command, args))

    def format_options(self, ctx: Any, formatter: Any) -> None:  # of click, or of the copy of it in Typer
        sections: dict[str, list[tuple[str, str]]] = {"Arguments": [], "Options": []}
        for param in self.get_params(ctx):
            if (record := param.get_help_record(ctx)) is not None:
                name, text = _short(*record)
                panel = getattr(param, "rich_help_panel", None) or "Options"
                if param.param_type_name == "argument":
                    name = param.metavar or param.name
                    panel = "Arguments"
                sections.setdefault(panel, []).append((name, text))
        for title, records in sections.items():
            if records:
                with formatter.section(title):
                    formatter.write_dl(records)


def _short(name: str, text: str) -> tuple[str, str]:
    """A line of help with a word for the type of a value, and of the remarks at its end the default alone.

    >>> _short("--seed <int range>", "Seed of the draw.  [default: 0; x>=0]")
    ('--seed N', 'Seed of the draw.  [default: 0]')
    """
    for kind, word in WORDS.items():
        name = re.sub(f"<{kind}( range)?>", word, name)
    if remarks := REMARKS.search(text):
        text = text[: remarks.start()]
        for remark in remarks[1].split("; "):
            if remark.startswith("default: "):
                text += f"  [{remark}]"
    return name, text


class Commands(Typer):
    """An application whose commands return what is printed."""

    def __init__(self) -> None:
        super().__init__(rich_markup_mode=None, pretty_exceptions_enable=False, add_completion=False)

    def command(self, name: str, *, ink: Format = "text", short_help: str) -> Callable[..., Any]:  # type: ignore[override]
        """Registers a command; without --format its sheet is written with this ``ink``."""
        register = super().command(name, cls=Command, short_help=short_help)

        def registered(command: Callable[..., Any]) -> Callable[..., Any]:
            register(printing(command, ink))
            return command

        return registered


def printing(command: Callable[..., Any], ink: Format = "text") -> Callable[..., None]:
    """The command with the options --format and --json, which prints what it returns."""

    @wraps(command)
    def printed(*, output: Format, as_json: bool, **arguments: Any) -> None:
        if as_json and output not in (ink, "json"):
            raise HashbenchError(f"--json cannot be combined with --format {output}: one of them says the format")
        with same_folders():
            returned: Sheet | Answer | None = command(**arguments)
        if returned is None:
            return
        answer = returned if isinstance(returned, Answer) else Answer(returned)
        shown = output
        if output == ink:
            shown = answer.ink or ink
        print_sheet(answer.sheet, shown, as_json=as_json, level=answer.level)
        for line in answer.after:
            echo(line, err=as_json or output not in {*FOR_PEOPLE, ink})
        if answer.error is not None:
            raise answer.error

    form = signature(command)
    output = Parameter("output", Parameter.KEYWORD_ONLY, default=ink, annotation=Output)
    as_json = Parameter("as_json", Parameter.KEYWORD_ONLY, default=False, annotation=AsJson)
    printed.__signature__ = form.replace(parameters=[*form.parameters.values(), output, as_json])  # type: ignore[attr-defined]
    printed.__annotations__ = {**command.__annotations__, "output": Output, "as_json": AsJson, "return": None}
    return printed


def lines(texts: Iterable[str], values: Callable[[], Any]) -> Sheet:
    """A sheet of lines that are printed as they are, such as files that were written; JSON has the ``values``."""
    return Sheet(texts=[(Code(text),) for text in texts], values=values)
