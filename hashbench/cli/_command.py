"""A command as a form: what it returns is printed here, by the options --format and --json, which it does not name."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import wraps
from inspect import Parameter, signature
from typing import Annotated, Any

from typer import Option, Typer, echo
from typer.core import TyperCommand

from hashbench.cli._terminal import print_sheet
from hashbench.foundation.errors import HashbenchError
from hashbench.showing.ink import Format
from hashbench.showing.sheet import Code, Sheet

PANEL = "Output"
FOR_PEOPLE = ("text", "markdown")
Output = Annotated[Format, Option("--format", help="The format in which it is printed.", rich_help_panel=PANEL)]
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

    def format_options(self, ctx: Any, formatter: Any) -> None:  # of click, or of the copy of it in Typer
        sections: dict[str, list[tuple[str, str]]] = {"Arguments": [], "Options": []}
        for param in self.get_params(ctx):
            if (record := param.get_help_record(ctx)) is not None:
                first = "Arguments" if param.param_type_name == "argument" else "Options"
                sections.setdefault(getattr(param, "rich_help_panel", None) or first, []).append(record)
        for title, records in sections.items():
            if records:
                with formatter.section(title):
                    formatter.write_dl(records)


class Commands(Typer):
    """An application whose commands return what is printed."""

    def __init__(self) -> None:
        super().__init__(rich_markup_mode=None, pretty_exceptions_enable=False, add_completion=False)

    def command(self, name: str, *, ink: Format = "text", **texts: Any) -> Callable[..., Any]:  # type: ignore[override]
        """Registers a command; without --format its sheet is written with this ``ink``."""
        register = super().command(name, cls=Command, **texts)

        def registered(command: Callable[..., Any]) -> Callable[..., Any]:
            register(printing(command, ink))
            return command

        return registered


def printing(command: Callable[..., Any], ink: Format = "text") -> Callable[..., None]:
    """The command with the options --format and --json, which prints what it returns.

    A command that returns nothing, by its annotation, is as it is.
    """
    if command.__annotations__["return"] is None:
        return command

    @wraps(command)
    def printed(*, output: Format, as_json: bool, **arguments: Any) -> None:
        returned: Sheet | Answer | None = command(**arguments)
        if returned is None:
            return
        answer = returned if isinstance(returned, Answer) else Answer(returned)
        shown = answer.ink if answer.ink is not None and output == ink else output
        print_sheet(answer.sheet, shown, as_json=as_json, level=answer.level)
        for line in answer.after:
            echo(line, err=as_json or output not in {*FOR_PEOPLE, ink})
        if answer.error is not None:
            raise answer.error

    own = signature(command)
    output = Parameter("output", Parameter.KEYWORD_ONLY, default=ink, annotation=Output)
    as_json = Parameter("as_json", Parameter.KEYWORD_ONLY, default=False, annotation=AsJson)
    printed.__signature__ = own.replace(parameters=[*own.parameters.values(), output, as_json])  # type: ignore[attr-defined]
    printed.__annotations__ = {**command.__annotations__, "output": Output, "as_json": AsJson, "return": None}
    return printed


def lines(texts: Iterable[str], values: Callable[[], Any]) -> Sheet:
    """A sheet of lines that are printed as they are, such as files that were written; JSON has the ``values``."""
    return Sheet(texts=[(Code(text),) for text in texts], values=values)
