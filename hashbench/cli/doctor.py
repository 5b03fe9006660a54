"""``hashbench doctor`` shows what is installed and downloaded, and how to get what is missing."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from hashbench.datasets.inventory import DatasetStatus

VERIFIABLE = ("stored", "labels only", "damaged")  # states of a data set that has a file to verify


def command(
    verify: Annotated[
        bool, typer.Option("--verify", help="Check every byte of the downloaded data sets; exit 1 if one is wrong.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Show what is installed and downloaded, which GPU is found, and how to get what is missing.

    By default only the headers of the data files are read; --verify reads the whole files.
    """
    from hashbench.datasets.card import cards
    from hashbench.datasets.inventory import dataset_status

    found = _found()
    statuses = [dataset_status(name) for name in cards()]
    verified = {each.name: _fault_of(each) for each in statuses if each.state in VERIFIABLE} if verify else {}
    typer.echo(_as_json(found, statuses, verified) if as_json else _as_text(found, statuses, verified))
    if any(verified.values()):
        raise typer.Exit(1)


def _found() -> dict[str, Any]:
    import shutil

    from hashbench import paths
    from hashbench.datasets.inventory import missing_weights, weights
    from hashbench.runs import provenance

    code = provenance.code()
    folders = {"root": paths.root(), "shipped": paths.shipped(), "results": paths.results(), "data": paths.data()}
    return {
        "version": code.version,
        "commit": code.commit,
        "dirty": code.dirty,
        "folders": {name: str(folder) for name, folder in folders.items()},
        "free_bytes": {name: shutil.disk_usage(_nearest_existing(folder)).free for name, folder in folders.items()},
        "versions": {library: found for library, found in provenance.versions().items() if library != "cuda"},
        "gpu": _gpu(),
        "weights": {path.name: path.stat().st_size for path in weights()},
        "missing_weights": missing_weights(),
    }


def _nearest_existing(folder: Path) -> Path:
    """The folder itself if it exists, or its nearest parent that exists."""
    return next(part for part in (folder.absolute(), *folder.absolute().parents) if part.exists())


def _gpu() -> str:
    from hashbench.runs import provenance

    try:
        return provenance.gpu_name() or "none: training runs on the CPU"
    except ImportError:
        return "unknown without torch"


def _fault_of(each: "DatasetStatus") -> str | None:
    """What is wrong with a downloaded data set; None if every byte is right."""
    from hashbench.datasets.store import open_labels, verify
    from hashbench.errors import HashbenchError
    from hashbench.progress import bar

    with bar(f"{each.name}: verify", "B", each.size_bytes, scaled=True) as verified:
        try:
            open_labels(each.name) if each.state == "labels only" else verify(each.name, verified.update)
        except HashbenchError as error:
            return str(error)
    return None


def _as_json(found: dict[str, Any], statuses: "list[DatasetStatus]", verified: dict[str, str | None]) -> str:
    from dataclasses import asdict

    datasets = {each.name: asdict(each) for each in statuses}
    for name, fault in verified.items():
        datasets[name] |= {"verified": fault is None, "fault": fault}
    return json.dumps({**found, "datasets": datasets})


def _as_text(found: dict[str, Any], statuses: "list[DatasetStatus]", verified: dict[str, str | None]) -> str:
    from hashbench.datasets.inventory import readable

    state = {True: ", with local changes", False: "", None: ""}[found["dirty"]]
    commit = found["commit"] or "unknown (installed without its repository)"
    lines = [f"hashbench {found['version']}  commit {commit}{state}"]
    for name, folder in found["folders"].items():
        lines.append(f"{name:14} {folder}  ({readable(found['free_bytes'][name])} free)")
    lines += [
        "",
        *(f"{library:14} {version or _how_to_install(library)}" for library, version in found["versions"].items()),
    ]
    lines += [f"{'gpu':14} {found['gpu']}", ""]
    width = max(14, *(len(each.name) for each in statuses))
    lines += [f"{each.name:{width}} {_line(each, verified)}" for each in statuses]
    kept = sum(each.kept_bytes for each in statuses)
    weights = ", ".join(f"{name} ({readable(size)})" for name, size in found["weights"].items())
    lines += ["", f"{'weights':14} {weights or 'none'}"]
    lines += [f"{model:14} has none: {step}" for model, step in found["missing_weights"].items()]
    return "\n".join([*lines, f"{'sources':14} {readable(kept)} kept"])


def _line(each: "DatasetStatus", verified: dict[str, str | None]) -> str:
    if each.name not in verified:
        return each.line()
    return verified[each.name] or f"{each.line()}; every byte is right"


def _how_to_install(library: str) -> str:
    return f"missing: pip install {'hashbench[train]' if library.startswith('torch') else library}"
