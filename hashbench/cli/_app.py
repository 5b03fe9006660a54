"""The application: its commands, the options that all commands share, and the exit codes."""

import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any, NoReturn, TextIO

import typer
from typer import Option
from typer.core import CompletionItem, TyperCommand, TyperGroup  # type: ignore[attr-defined]

from hashbench import __version__
from hashbench.cli import _interrupts
from hashbench.cli._command import Commands
from hashbench.cli._moved import command_of_today
from hashbench.cli._terminal import ends_with_what_was_left_out
from hashbench.foundation import paths
from hashbench.foundation.errors import HashbenchError, nearest
from hashbench.foundation.progress import QUIET
from hashbench.showing.ink import Format

# The order is that in which a user needs the commands. Each name is a module of hashbench.cli, which has the function
# `command` of a command, or the application `app` of a group. It is imported when the command is called.
COMMANDS = {
    "list": "List methods, data sets, tables, runs and other kinds.",
    "show": "Show all about one method, data set, table, run or metric.",
    "download": "Download data sets, verify every byte and convert them.",
    "split": "Write the id lists of a protocol; --check verifies them.",
    "pretrain": "Train a network as a classifier, to start other runs from.",
    "features": "Extract the features that methods hash or train on.",
    "train": "Train a method on a data set and store its scores.",
    "speed": "Measure how fast a run trains here, and the hours it takes.",
    "bench": "Compare methods on a data set, from training to a table.",
    "tune": "Search the settings of methods, in as many trials for each.",
    "encode": "Write the codes of a trained run, or of your own items.",
    "search": "Find the items nearest to queries, in codes or by a run.",
    "index": "Find the items nearest to queries by sparse codes.",
    "export": "Write the hash function of a run, or codes, for other systems.",
    "eval": "Score saved codes; ties are treated exactly.",
    "eval-shards": "Score saved codes whose database is in several files.",
    "compare": "Compare codes, runs or rows of a table, query by query.",
    "run": "Train and score the missing cells of tables.",
    "status": "Show what is done, missing or failed, of all tables or of one.",
    "table": "Print tables: published and measured values side by side.",
    "leaderboard": "Rank the methods: on which task, how surely, at what cost.",
    "figure": "Draw figures of papers from the stored rows.",
    "bundle": "Pack the rows of a table with what scores them again.",
    "verify": "Score the rows of a bundle again and compare them.",
    "report": "Write one page with all tables, figures and what is missing.",
    "doctor": "Show what is installed and downloaded, and what is missing.",
}
GROUPS = {
    "dataset": "Add data of your own as a data set.",
    "results": "Import, merge and pack stored rows.",
}
SHORT_HELP = {**COMMANDS, **GROUPS}
SHARED = [  # the options of the application: a line for those that are alike
    ("--root, --results, --data DIR", "Your own cards and settings; rows; data."),
    ("--quiet, --debug", "No bars and notes; whole tracebacks."),
    ("--install-completion", "Of names in the shell; or --show-completion."),
    ("--version, -h, --help", "Show the version, or this message."),
]
INKS: dict[str, Format] = {**dict.fromkeys(("table", "leaderboard", "tune", "bench"), "markdown"), "figure": "csv"}


class LoadedCommands(Mapping[str, Any]):
    """The commands by name; each is imported when it is first looked up."""

    def __init__(self) -> None:
        self._loaded: dict[str, Any] = {}

    def __getitem__(self, name: str) -> Any:
        if name not in SHORT_HELP:
            raise KeyError(name)
        if name not in self._loaded:
            self._loaded[name] = _command_called(name)
        return self._loaded[name]

    def __iter__(self) -> Iterator[str]:
        return iter(SHORT_HELP)

    def __len__(self) -> int:
        return len(SHORT_HELP)


class LazyGroup(TyperGroup):
    """The application. Its help and the completion of its commands' names import none of them."""

    def __init__(self, **attributes: Any) -> None:
        super().__init__(**attributes)
        self.commands = LoadedCommands()  # type: ignore[assignment]  # nothing adds to it

    def list_commands(self, ctx: Any) -> list[str]:  # noqa: ARG002
        return list(SHORT_HELP)

    def format_options(self, ctx: Any, formatter: Any) -> None:
        with formatter.section("Options"):
            formatter.write_dl(SHARED)
        self.format_commands(ctx, formatter)

    def format_commands(self, ctx: Any, formatter: Any) -> None:  # noqa: ARG002
        with formatter.section("Commands"):
            formatter.write_dl(list(SHORT_HELP.items()))

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        return super().resolve_command(ctx, command_of_today(args))

    def shell_complete(self, ctx: Any, incomplete: str) -> list[Any]:
        names = [name for name in SHORT_HELP if name.startswith(incomplete)]
        completed = [CompletionItem(name, help=SHORT_HELP[name]) for name in names]
        return completed + TyperCommand.shell_complete(self, ctx, incomplete)  # the options


def _command_called(name: str) -> Any:
    module = import_module(f"hashbench.cli.{name.replace('-', '_')}")
    if name in GROUPS:
        group = typer.main.get_group(module.app)
        group.name = name
        group.help = GROUPS[name]
        return group
    one = Commands()
    one.command(name, ink=INKS.get(name, "text"), short_help=COMMANDS[name])(module.command)
    return typer.main.get_command(one)


app = typer.Typer(
    cls=LazyGroup,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},  # of every command: they inherit it
)


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"hashbench {__version__}")
        raise typer.Exit


@app.callback()
def _shared(
    root: Annotated[Path | None, Option(help="Your own datasets/ and experiments/, added to the shipped ones.")] = None,
    results: Annotated[Path | None, Option(help="Folder for rows, runs and tables.")] = None,
    data: Annotated[Path | None, Option(help="Folder for downloaded data.")] = None,
    quiet: Annotated[bool, Option("--quiet", help="Show no progress bars and no notes.")] = False,
    debug: Annotated[bool, Option("--debug", help="Show the full traceback of an error.")] = False,
    version: Annotated[  # noqa: ARG001  (its callback acts)
        bool, Option("--version", callback=_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    """Benchmark methods that learn to hash. Scores are exact where items tie."""
    from hashbench.foundation.files import resolved

    # in the environment, so that worker processes see them too
    for name, folder in (("HASHBENCH_ROOT", root), ("HASHBENCH_RESULTS", results), ("HASHBENCH_DATA", data)):
        if folder is not None:
            os.environ[name] = str(resolved(folder))
    os.environ |= {name: "1" for name, wanted in ((QUIET, quiet), ("HASHBENCH_DEBUG", debug)) if wanted}


def main(arguments: list[str] | None = None) -> NoReturn:
    """Runs the command line and exits: 0 done, 1 a check failed, 2 bad usage or bad input, 130 interrupted."""
    if arguments is None:
        arguments = sys.argv[1:]
    else:  # not the process's own: an earlier command of the process may have written cards
        paths.read_again()
    try:
        with _interrupts.raise_interrupts():
            code = _status(arguments)
    except KeyboardInterrupt:
        code = _interrupts.STATUS
    if code == _interrupts.STATUS:
        _interrupts.print_line()
    sys.exit(code)


def _status(arguments: list[str]) -> int:
    """The exit status of the command, after its error was printed, if there was one."""
    try:
        with ends_with_what_was_left_out():
            command = typer.main.get_command(app)
            code: Any = command.main(arguments or ["--help"], prog_name="hashbench", standalone_mode=False)
        if sys.stdout is not None:
            sys.stdout.flush()
    except typer.Abort:
        return _interrupts.STATUS
    except (Exception, SystemExit) as error:
        if _interrupts.was_interrupted():  # a library may have made another error of it
            return _interrupts.STATUS
        if isinstance(error, BrokenPipeError) or isinstance(error.__context__, BrokenPipeError):
            _discard(sys.stdout)  # the reader of our output has closed it, as ``head`` does when it has enough
            return 0
        if isinstance(error, SystemExit) or os.environ.get("HASHBENCH_DEBUG"):
            raise
        return _print_error(error)
    return code if isinstance(code, int) else 0


def _discard(stream: TextIO) -> None:
    """Drops what is left in the buffer of ``stream``; otherwise Python fails when it flushes it at the end."""
    with suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def _print_error(error: BaseException) -> int:
    code = HashbenchError.exit_code
    message = f"{type(error).__name__}: {error} (hashbench --debug ... shows where)"
    if isinstance(error, typer.TyperException):
        code = error.exit_code
        message = _text_of(error)
        if (context := getattr(error, "ctx", None)) is not None:
            message += f" ({context.command_path} -h)"
    elif isinstance(error, HashbenchError):
        code = error.exit_code
        message = str(error)
    elif isinstance(error, OSError):
        message = f"{error.filename or 'a file, or standard output'}: {error.strerror or error}"
        _discard(sys.stdout)
    try:
        typer.echo(f"error: {' '.join(message.split())}", err=True)
    except OSError:  # stderr may be full, too
        _discard(sys.stderr)
    return code


def _text_of(error: typer.TyperException) -> str:
    """The text of an error in the usage, with what a setting is given as where an option is unknown."""
    text = error.format_message().replace("Value error, ", "")
    name = str(getattr(error, "option_name", ""))
    command = getattr(getattr(error, "ctx", None), "command", None)
    options = [option for param in getattr(command, "params", ()) for option in param.opts]
    if not (hasattr(error, "possibilities") and "--set" in options and name.startswith("--")):
        return text
    key = name.removeprefix("--").replace("-", "_")
    if not nearest(key, [option.removeprefix("--") for option in options]):
        text = f"No such option: {name}"
    return f"{text}; a setting of a method is given as --set {key}=VALUE"
