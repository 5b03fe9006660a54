"""The application: its commands, its shared options, and how it ends."""

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

INTERRUPTED = 130
AGAIN_S = 3
# In the order in which a user meets them; the command of a name is the function `command` of that module.
# The modules import nothing heavy until they are called, so --help answers at once.
COMMANDS = {
    "list": "The catalogue: methods, datasets, metrics, models, tables.",
    "download": "Get data sets, verify every byte, convert them.",
    "split": "Write a protocol's id lists; --check proves them.",
    "features": "Features of a data set for the shallow methods.",
    "train": "One cell: train, encode, score, store.",
    "encode": "Codes of a run's protocol, or of one's own items.",
    "search": "Draw the nearest images of a run.",
    "eval": "Score saved codes, exactly under ties.",
    "run": "Run the cells of tables that are not measured yet.",
    "status": "What of a table is measured, missing, failed.",
    "table": "Render tables: paper and measured side by side.",
    "doctor": "What is installed, downloaded, missing; what mends it.",
}

app = typer.Typer(rich_markup_mode=None, add_completion=False, pretty_exceptions_enable=False)
for _name, _short in COMMANDS.items():
    app.command(_name, short_help=_short)(import_module(f"hashbench.cli.{_name}").command)
app.add_typer(import_module("hashbench.cli.index").app, name="index", help="Build or search an index of sparse codes.")


def _version(asked: bool) -> None:
    if asked:
        typer.echo(f"hashbench {__version__}")
        raise typer.Exit


@app.callback()
def _shared(
    root: Annotated[Path | None, typer.Option(help="Folder with datasets/ and experiments/.")] = None,
    results: Annotated[Path | None, typer.Option(help="Folder of rows, runs and tables.")] = None,
    data: Annotated[Path | None, typer.Option(help="Folder of downloaded data.")] = None,
    debug: Annotated[bool, typer.Option("--debug", help="Show the traceback of an error.")] = False,
    version: Annotated[  # noqa: ARG001  (its callback acts)
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print it.")
    ] = False,
) -> None:
    """Benchmark learning to hash: exact under ties, every number with the run that proves it."""
    # in the environment, so that worker processes see them too
    for name, folder in (("HASHBENCH_ROOT", root), ("HASHBENCH_RESULTS", results), ("HASHBENCH_DATA", data)):
        if folder is not None:
            os.environ[name] = str(folder.resolve())
    if debug:
        os.environ["HASHBENCH_DEBUG"] = "1"


def main(arguments: list[str] | None = None) -> NoReturn:
    """Runs the command line: exit 0 done, 1 a check failed, 2 bad usage or bad input, 130 interrupted."""
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
    except BrokenPipeError:  # whoever read our output has seen enough
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
    signal.alarm(0)  # of an interrupt; where it was lost and the command is done all the same, it comes no more
    if code == INTERRUPTED:
        typer.echo("interrupted: the same command continues from here", err=True)
    sys.exit(code if isinstance(code, int) else 0)


def _complain(error: HashbenchError | typer.TyperException) -> int:
    message = error.format_message() if isinstance(error, typer.TyperException) else str(error)
    typer.echo(f"error: {' '.join(message.split())}", err=True)
    return error.exit_code


def _interrupt(_signum: int, _frame: FrameType | None) -> NoReturn:
    """Raised inside an import or a finaliser the interrupt would be lost: then it comes once more."""
    signal.signal(signal.SIGALRM, _interrupt)
    signal.alarm(AGAIN_S)
    raise KeyboardInterrupt
