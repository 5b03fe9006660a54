"""The optional parts of hashbench (extras): what they need, what of it is installed, and the command that adds one."""

import re
import shlex
import tomllib
from functools import cache
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from pathlib import Path

from hashbench.foundation import paths

LOCKED = ("parquet", "ray", "search", "timm", "train")  # make install adds them, as requirements.lock has them
OF_EXTRA = re.compile(r"""(?P<package>[^;]+?)\s*;.*\bextra == ["'](?P<extra>[\w-]+)["']""")


@cache
def extras() -> dict[str, list[str]]:
    """The requirements of each extra, such as ``torch>=2.5``, as the clone or the installed package declares them."""
    if (folder := clone()) is not None:
        project = tomllib.loads((folder / "pyproject.toml").read_text(encoding="utf-8"))["project"]
        return {extra: list(needed) for extra, needed in sorted(project["optional-dependencies"].items())}
    by_extra: dict[str, list[str]] = {}
    for match in filter(None, map(OF_EXTRA.fullmatch, _requirements())):
        by_extra.setdefault(match["extra"], []).append(match["package"])
    return dict(sorted(by_extra.items()))


def _requirements() -> list[str]:
    try:
        return distribution("hashbench").requires or []
    except PackageNotFoundError:
        return []


def missing(extra: str) -> list[str]:
    """The packages of an extra that are not installed."""
    packages = [re.split(r"[^\w.-]", needed, maxsplit=1)[0] for needed in extras().get(extra, [])]
    return [package for package in packages if next(iter(Distribution.discover(name=package)), None) is None]


def how_to_install(extra: str) -> str:
    """The command that installs what an extra needs."""
    if (folder := clone()) is None:
        return f"pip install {shlex.join(extras().get(extra, [extra]))}"
    command = f"pip install -e {shlex.quote(f'{paths.shown(folder)}[{extra}]')}"
    if extra in LOCKED:
        return f"make install, or {command}"
    return command


def clone() -> Path | None:
    """The clone of hashbench that the package runs from; None if it is installed."""
    folder = paths.PACKAGE.parent
    if (folder / "pyproject.toml").is_file() and (folder / "Makefile").is_file():
        return folder
    return None
