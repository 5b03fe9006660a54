"""``hashbench doctor`` shows what is installed and downloaded, and how to get what is missing."""

import shutil
from collections.abc import Iterator
from dataclasses import asdict
from typing import Annotated, Any

from typer import Option

from hashbench.cli._command import Answer
from hashbench.cli.catalogue import card_of
from hashbench.foundation import extras, paths, provenance
from hashbench.foundation.errors import CheckFailed, HashbenchError, counted
from hashbench.foundation.progress import bar
from hashbench.learning.models import MODELS, weights
from hashbench.running.datasets.card import cards
from hashbench.running.datasets.status import DatasetStatus, dataset_status, files_in, readable
from hashbench.running.datasets.store import open_labels, verify
from hashbench.showing.sheet import Cell, Code, Sheet, Text, facts

VERIFIABLE = ("stored", "labels only", "damaged")  # states of a data set that has a file to verify


def command(
    verify: Annotated[bool, Option("--verify", help="Check every byte of the data sets; exit 1 if wrong.")] = False,
) -> Answer:
    """Show what is installed and downloaded, which GPU is found, and how to get what is missing.

    By default only the headers of the data files are read; --verify reads the whole files.
    """
    installation = _installation()
    statuses = []
    for name in cards():
        try:
            status = dataset_status(card_of(name))
        except HashbenchError as fault:  # one invalid card must not hide the other data sets
            status = DatasetStatus(name, "damaged", fault=str(fault))
        statuses.append(status)
    verified: dict[str, str | None] = {}
    if verify:
        verified = {status.name: _fault_of(status) for status in statuses if status.state in VERIFIABLE}
    wrong = [name for name, fault in verified.items() if fault is not None]
    error = None
    if wrong:
        error = CheckFailed(f"{counted(len(wrong), 'data set')} damaged: {', '.join(wrong)}")
    return Answer(_sheet(installation, statuses, verified), error=error)


def _installation() -> dict[str, Any]:
    code = provenance.code()
    folders = {"root": paths.root(), "shipped": paths.shipped(), "results": paths.results(), "data": paths.data()}
    free = {}
    for name, folder in folders.items():  # one that does not exist yet is on the volume of its nearest parent that does
        volume = next(path for path in (folder.absolute(), *folder.absolute().parents) if path.exists())
        free[name] = shutil.disk_usage(volume).free
    official = {name: model.pretrained.weights for name, model in MODELS.usable() if model.pretrained is not None}
    absent = {}
    packages = {}
    for name, known in official.items():
        if not known.path.is_file():
            absent[name] = known.remedy
        elif not weights.identify(name, known, known.path).official:  # its name is no proof
            absent[name] = f"{known.path} is not the official file, or damaged: {known.remedy}"
        elif known.package:
            packages[name] = known.package
    others = {official[name].path.name for name in absent}
    try:
        gpu = provenance.gpu_name() or "none: training runs on the CPU"
    except ImportError:
        gpu = "unknown without torch"
    return {
        **{"version": code.version, "commit": code.commit, "dirty": code.dirty},
        "folders": {name: str(folder) for name, folder in folders.items()},
        "free_bytes": free,
        "versions": {library: version for library, version in provenance.versions().items() if library != "cuda"},
        "extras": {name: extras.missing(name) for name in extras.extras()},
        "how_to_install": {name: extras.how_to_install(name) for name in extras.extras()},
        "gpu": gpu,
        "weights": {path.name: path.stat().st_size for path in files_in(paths.weights()) if path.name not in others},
        "missing_weights": absent,
        "installed_weights": packages,
    }


def _fault_of(status: DatasetStatus) -> str | None:  # None: every byte is right
    with bar(f"{status.name}: verify", "B", status.size_bytes, scaled=True) as verified:
        try:
            card = card_of(status.name)
            if status.state == "labels only":
                open_labels(card)
            else:
                verify(card, verified.update)
        except HashbenchError as error:
            return str(error)
    return None


def _sheet(installation: dict[str, Any], statuses: list[DatasetStatus], verified: dict[str, str | None]) -> Sheet:
    commit = installation["commit"] or "unknown (installed without its repository)"
    if installation["dirty"]:
        commit += ", with local changes"
    folders: dict[str, Cell] = {"commit": commit}
    for name, folder in installation["folders"].items():
        folders[name] = (Code(f"{folder} ({readable(installation['free_bytes'][name])} free)"),)
    installed: dict[str, Cell] = {
        library: version or "missing" for library, version in installation["versions"].items()
    }
    for extra, missing in installation["extras"].items():
        how = installation["how_to_install"][extra]
        installed[f"extra {extra}"] = "installed"
        if missing:
            installed[f"extra {extra}"] = (f"{', '.join(missing)} missing: ", Code(how))
    installed["gpu"] = installation["gpu"]
    datasets = {status.name: _line(status, verified) for status in statuses}

    def values() -> dict[str, Any]:
        of_datasets = {status.name: asdict(status) for status in statuses}
        for name, fault in verified.items():
            of_datasets[name] |= {"verified": fault is None, "fault": fault}
        return {**installation, "datasets": of_datasets}

    grids = [facts(folders), facts(installed), facts(datasets), facts(dict(_kept(installation, statuses)))]
    return Sheet(f"hashbench {installation['version']}", grids, values=values)


def _kept(installation: dict[str, Any], statuses: list[DatasetStatus]) -> Iterator[tuple[str, Text]]:
    weights = ", ".join(f"{name} ({readable(size)})" for name, size in installation["weights"].items())
    yield "weights", weights or "none"
    for model, package in installation["installed_weights"].items():
        yield model, f"installed: {package}: {MODELS.get(model).summary}"
    for model, step in installation["missing_weights"].items():
        yield model, f"has none: {step}"
    yield "sources", f"{readable(sum(status.kept_bytes for status in statuses))} kept"


def _line(status: DatasetStatus, verified: dict[str, str | None]) -> Text:
    """The state of a data set, and if it is not here the command that gets it, or that tells how."""
    if status.name in verified:
        return verified[status.name] or f"{status.line()}; every byte is right"
    if status.state not in ("missing", "labels only") or not status.steps:
        return status.line()
    state = "missing"
    if status.state == "labels only":
        state = f"labels of {status.n_items:,} items; the items"
    step = status.steps[0]
    if not step.startswith("hashbench "):
        step = f"by hand: hashbench show {status.name}"
    return (Code(f"{state}: {step}"),)
