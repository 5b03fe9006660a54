"""``hashbench doctor``: what is here, what is missing, and the command that mends it."""

import typer


def command() -> None:
    """Say what is installed and downloaded, which GPU is there, and how to get what is missing."""
    from hashbench import paths, provenance

    code = provenance.code()
    state = {True: ", with local changes", False: "", None: ""}[code.dirty]
    typer.echo(f"hashbench {code.version}  commit {code.commit or 'unknown (installed without its repository)'}{state}")
    for name, folder in (("root", paths.root()), ("results", paths.results()), ("data", paths.data())):
        typer.echo(f"{name:10} {folder}")
    typer.echo("")
    for library, found in provenance.versions().items():
        if library != "cuda":
            typer.echo(f"{library:14} {found or _mend(library)}")
    typer.echo(f"{'gpu':14} {_gpu()}")
    typer.echo("")
    _datasets()


def _mend(library: str) -> str:
    return f"missing: pip install {'hashbench[train]' if library.startswith('torch') else library}"


def _gpu() -> str:
    from hashbench import provenance

    try:
        return provenance.gpu_name() or "none: training runs on the CPU"
    except ImportError:
        return "unknown without torch"


def _datasets() -> None:
    from hashbench.datasets.card import cards
    from hashbench.datasets.store import open_dataset
    from hashbench.errors import HashbenchError

    for name in cards():
        try:
            typer.echo(f"{name:14} {len(open_dataset(name).labels):,} items")
        except HashbenchError as error:
            typer.echo(f"{name:14} missing: {error}")
