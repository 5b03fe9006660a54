"""``hashbench doctor`` shows what is installed and downloaded, and how to get what is missing."""

import json
from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated, Any

import typer

from hashbench.cli._options import AsJson

if TYPE_CHECKING:
    from hashbench.datasets.status import DatasetStatus

COMMAND = "missing: hashbench "  # how a line begins that ends with a command
VERIFIABLE = ("stored", "labels only", "damaged")  # states of a data set that has a file to verify


def command(
    verify: Annotated[
        bool, typer.Option("--verify", help="Check every byte of the downloaded data sets; exit 1 if one is wrong.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Show what is installed and downloaded, which GPU is found, and how to get what is missing.

    By default only the headers of the data files are read; --verify reads the whole files.
    """
    from hashbench.datasets.card import cards

    found = _found()
    statuses = [_status(name) for name in cards()]
    verified = {each.name: _fault_of(each) for each in statuses if each.state in VERIFIABLE} if verify else {}
    typer.echo(_as_json(found, statuses, verified) if as_json else _as_text(found, statuses, verified))
    if any(verified.values()):
        raise typer.Exit(1)


def _status(name: str) -> "DatasetStatus":
    from hashbench.datasets.card import load_card
    from hashbench.datasets.status import DatasetStatus, dataset_status
    from hashbench.foundation.errors import HashbenchError

    try:
        return dataset_status(load_card(name))
    except HashbenchError as error:  # one invalid card must not hide the other data sets
        return DatasetStatus(name, "damaged", fault=str(error))


def _found() -> dict[str, Any]:
    import shutil

    from hashbench.datasets.status import files_in
    from hashbench.foundation import extras, paths, provenance

    code = provenance.code()
    folders = {"root": paths.root(), "shipped": paths.shipped(), "results": paths.results(), "data": paths.data()}
    return {
        "version": code.version,
        "commit": code.commit,
        "dirty": code.dirty,
        "folders": {name: str(folder) for name, folder in folders.items()},
        # a folder that does not exist yet is on the volume of its nearest parent that does
        "free_bytes": {
            name: shutil.disk_usage(
                next(part for part in (path.absolute(), *path.absolute().parents) if part.exists())
            ).free
            for name, path in folders.items()
        },
        "versions": {library: found for library, found in provenance.versions().items() if library != "cuda"},
        "extras": {name: extras.missing(name) for name in extras.extras()},
        "how_to_install": {name: extras.how_to_install(name) for name in extras.extras()},
        "gpu": _gpu(),
        "weights": {path.name: path.stat().st_size for path in files_in(paths.weights())},
        "missing_weights": _missing_weights(),
    }


def _missing_weights() -> dict[str, str]:
    """For each model without its official weights: where to get them and where to put them."""
    from hashbench.foundation import paths
    from hashbench.models import MODELS

    folder = paths.weights()
    official = {name: model.pretrained for name, model in MODELS.usable()}
    return {
        name: f"put {known.weights.url} into {folder}"
        for name, known in official.items()
        if known is not None and not (folder / known.weights.file).is_file()
    }


def _gpu() -> str:
    from hashbench.foundation import provenance

    try:
        return provenance.gpu_name() or "none: training runs on the CPU"
    except ImportError:
        return "unknown without torch"


def _fault_of(each: "DatasetStatus") -> str | None:
    """The error in a downloaded data set; None if every byte is right."""
    from hashbench.datasets.card import load_card
    from hashbench.datasets.store import open_labels, verify
    from hashbench.foundation.errors import HashbenchError
    from hashbench.foundation.progress import bar

    with bar(f"{each.name}: verify", "B", each.size_bytes, scaled=True) as verified:
        try:
            card = load_card(each.name)
            open_labels(card) if each.state == "labels only" else verify(card, verified.update)
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
    """The report in lines that fit the terminal."""
    from hashbench.cli._terminal import wrapped
    from hashbench.datasets.status import readable

    state = {True: ", with local changes", False: "", None: ""}[found["dirty"]]
    commit = found["commit"] or "unknown (installed without its repository)"
    width = max(14, *(len(each.name) for each in statuses))
    lines = list(wrapped(f"hashbench {found['version']}  ", f"commit {commit}{state}"))
    for name, folder in found["folders"].items():  # paths are not cut
        lines += [f"{name:{width}}  {folder}  ({readable(found['free_bytes'][name])} free)"]
    for block in (_installed(found), [(each.name, _line(each, verified)) for each in statuses], _kept(found, statuses)):
        lines += [""]
        for name, text in block:  # a command is not cut: it is to be copied
            lead = f"{name:{width}}  "
            lines += [lead + text] if text.startswith(COMMAND) else wrapped(lead, text)
    return "\n".join(lines)


def _installed(found: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """The libraries with their versions, the extras with what is missing of them, and the GPU."""
    yield from ((library, version or "missing") for library, version in found["versions"].items())
    for extra, missing in found["extras"].items():
        what = f"{', '.join(missing)} missing: {found['how_to_install'][extra]}" if missing else "installed"
        yield f"extra {extra}", what
    yield "gpu", found["gpu"]


def _kept(found: dict[str, Any], statuses: "list[DatasetStatus]") -> Iterator[tuple[str, str]]:
    """The weights that are here, those that are not and where to get them, and the size of the downloads."""
    from hashbench.datasets.status import readable

    weights = ", ".join(f"{name} ({readable(size)})" for name, size in found["weights"].items())
    yield "weights", weights or "none"
    yield from ((model, f"has none: {step}") for model, step in found["missing_weights"].items())
    yield "sources", f"{readable(sum(each.kept_bytes for each in statuses))} kept"


def _line(each: "DatasetStatus", verified: dict[str, str | None]) -> str:
    """The state of a data set, and if it is not here one hint: the command that gets it, or that tells how."""
    if each.name in verified:
        return verified[each.name] or f"{each.line()}; every byte is right"
    if each.state not in ("missing", "labels only") or not each.steps:
        return each.line()
    by_command = each.steps[0].startswith("hashbench ")
    hint = each.steps[0] if by_command else f"by hand: hashbench show {each.name}"
    return f"missing: {hint}" if each.state == "missing" else f"labels of {each.n_items:,} items; the items: {hint}"
