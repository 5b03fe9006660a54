"""The optional parts of hashbench (extras): what they need, what of it is installed, and the command that adds one."""

import json
import re
import shlex
import tomllib
from collections.abc import Mapping
from functools import cache
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

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
    for match in filter(None, map(OF_EXTRA.fullmatch, _distribution()[0])):
        by_extra.setdefault(match["extra"], []).append(match["package"])
    return dict(sorted(by_extra.items()))


def missing(extra: str) -> list[str]:
    """The packages of an extra that are not installed."""
    packages = [re.split(r"[^\w.-]", needed, maxsplit=1)[0] for needed in extras().get(extra, [])]
    return [package for package in packages if next(iter(Distribution.discover(name=package)), None) is None]


def how_to_install(extra: str) -> str:
    """The command that adds an extra: to the clone, the file or the address that hashbench was installed from."""
    if (folder := clone()) is not None:
        command = f"pip install -e {shlex.quote(f'{paths.shown(folder)}[{extra}]')}"
        if extra not in LOCKED:
            return command
        there = ""
        if folder != Path.cwd():
            there = f"-C {shlex.quote(str(folder))} "
        return f"make {there}install, or {command}"
    origin = _origin(_distribution()[1], extra)
    packages = [origin]
    if not origin:
        packages = extras().get(extra, [extra])
    return f"pip install {shlex.join(packages)}"


def clone() -> Path | None:
    """The clone of hashbench that the package runs from; None if it is installed."""
    folder = paths.PACKAGE.parent
    if (folder / "pyproject.toml").is_file() and (folder / "Makefile").is_file():
        return folder
    return None


def _origin(direct_url: Mapping[str, Any], extra: str) -> str:
    """The wheel, folder or repository that the package was installed from, with the extra; empty if it is gone."""
    url = str(direct_url.get("url", ""))
    if url.startswith("file:"):
        path = Path(unquote(urlsplit(url).path))
        if not path.exists():
            return ""
        return f"{path}[{extra}]"
    if vcs := direct_url.get("vcs_info"):
        url = f"{vcs['vcs']}+{url}@{vcs['commit_id']}"
    if not url:
        return ""
    return f"hashbench[{extra}] @ {url}"


@cache
def _distribution() -> tuple[list[str], dict[str, Any]]:
    """The requirements of the installed package, and where it was installed from (PEP 610; empty: from an index)."""
    try:
        installed = distribution("hashbench")
    except PackageNotFoundError:
        return [], {}
    return installed.requires or [], json.loads(installed.read_text("direct_url.json") or "{}")
