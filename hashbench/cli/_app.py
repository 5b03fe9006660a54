"""The application: its commands, the options that all commands share, and the exit codes."""

import os
import signal
import sys
from importlib import import_module
from pathlib import Path
from types import FrameType
from typing import Annotated, Any, NoReturn

import typer

from hashbench import __version__
from hashbench.errors import HashbenchError
from hashbench.parallel import let_idle_threads_sleep
from hashbench.progress import QUIET

INTERRUPTED = 130
AGAIN_S = 3  # until a lost interrupt is repeated
# The order is that in which a user needs the commands. Each name is a module of hashbench.cli whose function `command`
# is the command. The modules import nothing heavy until they are called, so --help answers at once.
COMMANDS = {
    "list": "List what there is: methods, data sets, tables, runs and more.",
    "show": "Show all about one method, data set, table, run or metric.",
    "download": "Download data sets, verify every byte and convert them.",
    "split": "Write the id lists of a protocol; --check verifies them.",
    "features": "Extract the features that the shallow methods use.",
    "train": "Train a method on a data set and store its scores.",
    "encode": "Write the codes of a trained run, or of your own items.",
    "search": "Draw the images that a run retrieves for some queries.",
    "eval": "Score saved codes; ties are treated exactly.",
    "run": "Train and score the missing cells of tables.",
    "status": "Show what is done, missing or failed, of all tables or of one.",
    "table": "Print tables: published and measured values side by side.",
    "doctor": "Show what is installed and downloaded, and what is missing.",
}

app = typer.Typer(
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},  # of every command: they inherit it
)
for _name, _short in COMMANDS.items():
    app.command(_name, short_help=_short)(import_module(f"hashbench.cli.{_name}").command)
app.add_typer(
    import_module("hashbench.cli.index").app, name="index", help="Build an index of sparse codes, or search it."
)
app.add_typer(
    import_module("hashbench.cli.dataset").app, name="dataset", help="Add data of your own as a data set, or remove it."
)


def _version(asked: bool) -> None:
    if asked:
        typer.echo(f"hashbench {__version__}")
        raise typer.Exit


@app.callback()
def _shared(
    root: Annotated[
        Path | None, typer.Option(help="Your own datasets/ and experiments/, added to the shipped ones.")
    ] = None,
    results: Annotated[Path | None, typer.Option(help="Folder for rows, runs and tables.")] = None,
    data: Annotated[Path | None, typer.Option(help="Folder for downloaded data.")] = None,
    quiet: Annotated[bool, typer.Option("--quiet", help="Show no progress bars and no notes.")] = False,
    debug: Annotated[bool, typer.Option("--debug", help="Show the full traceback of an error.")] = False,
    version: Annotated[  # noqa: ARG001  (its callback acts)
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    """Benchmark methods that learn to hash.

    Scores are exact where items tie, and every number names the run that gave it.
    """
    # in the environment, so that worker processes see them too
    for name, folder in (("HASHBENCH_ROOT", root), ("HASHBENCH_RESULTS", results), ("HASHBENCH_DATA", data)):
        if folder is not None:
            os.environ[name] = str(folder.resolve())
    for name, wanted in ((QUIET, quiet), ("HASHBENCH_DEBUG", debug)):
        if wanted:
            os.environ[name] = "1"


def main(arguments: list[str] | None = None) -> NoReturn:
    """Runs the command line and exits: 0 done, 1 a check failed, 2 bad usage or bad input, 130 interrupted."""
    let_idle_threads_sleep()
    signal.signal(signal.SIGTERM, _interrupt)
    given = sys.argv[1:] if arguments is None else arguments
    try:
        code: Any = typer.main.get_command(app).main(given or ["--help"], prog_name="hashbench", standalone_mode=False)
    except (HashbenchError, typer.TyperException) as error:
        if os.environ.get("HASHBENCH_DEBUG"):
            raise
        code = _complain(error)
    except (KeyboardInterrupt, typer.Abort):
        code = INTERRUPTED
    except BrokenPipeError:  # the reader of our output has closed it
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        code = 0
    except OSError as error:
        if os.environ.get("HASHBENCH_DEBUG"):
            raise
        code = _complain(HashbenchError(f"{error.filename or 'a file'}: {error.strerror or error}"))
    except Exception as error:
        if os.environ.get("HASHBENCH_DEBUG"):
            raise
        code = _complain(HashbenchError(f"{type(error).__name__}: {error} (hashbench --debug ... shows where)"))
    signal.alarm(0)  # a lost interrupt must not be repeated once the command is done
    if code == INTERRUPTED:
        typer.echo("interrupted: the same command continues from here", err=True)
    sys.exit(code if isinstance(code, int) else 0)


def _complain(error: HashbenchError | typer.TyperException) -> int:
    message = error.format_message() if isinstance(error, typer.TyperException) else str(error)
    text = " ".join(message.replace("Value error, ", "").split())
    typer.echo(f"error: {text}{_where_to_look(error)}", err=True)
    return error.exit_code


def _where_to_look(error: HashbenchError | typer.TyperException) -> str:
    """The help of the command that was used wrongly; empty for other errors."""
    context = getattr(error, "ctx", None)
    return "" if context is None else f" ({context.command_path} -h)"


def _interrupt(_signum: int, _frame: FrameType | None) -> NoReturn:
    """Raises KeyboardInterrupt, and again after ``AGAIN_S`` seconds: an import can lose it."""
    signal.signal(signal.SIGALRM, _interrupt)
    signal.alarm(AGAIN_S)
    raise KeyboardInterrupt
