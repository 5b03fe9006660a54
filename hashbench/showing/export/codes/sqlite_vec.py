"""sqlite-vec: a database of SQLite with a virtual table vec0."""

from pathlib import Path

from hashbench.scoring.codes import Codes
from hashbench.showing.export.codes._target import Target, library

EXAMPLE = """
import apsw
import sqlite_vec

connection = apsw.Connection("$file")
connection.enable_load_extension(True)
connection.load_extension(sqlite_vec.loadable_path())
SEARCH = "SELECT id, distance FROM codes WHERE code MATCH vec_bit(?) AND k = 10 ORDER BY distance"
rows = [connection.execute(SEARCH, [query.tobytes()]).fetchall() for query in packed]
ids = [[id for id, distance in found] for found in rows]
distances = [[distance for id, distance in found] for found in rows]
"""

BEFORE = """
The `sqlite3` of some builds of Python cannot load extensions; `apsw` always can.
"""


def write(codes: Codes, path: Path, _table: str) -> None:
    """Writes the database; ``path`` must be an empty file or none."""
    # not the sqlite3 of Python: many builds of it load no extension
    apsw = library("apsw", "sqlite-vec", "sqlite-vec")
    extension = library("sqlite_vec", "sqlite-vec", "sqlite-vec").loadable_path()
    packed = codes.packbits()
    connection = apsw.Connection(str(path))
    connection.enable_load_extension(True)
    connection.load_extension(extension)
    connection.execute("PRAGMA journal_mode = MEMORY")  # no second file beside an output that is not there as a whole
    connection.execute(
        f"CREATE VIRTUAL TABLE codes USING vec0(id INTEGER PRIMARY KEY, code bit[{8 * packed.shape[1]}])"
    )
    with connection:
        rows = ((row, code.tobytes()) for row, code in enumerate(packed))
        connection.executemany("INSERT INTO codes (id, code) VALUES (?, vec_bit(?))", rows)
    connection.close()


TARGET = Target(
    file="codes.db",
    about="a database of SQLite with the virtual table `codes` (`vec0`) of `id` and `code`, a `bit[$stored_bits]`",
    write=write,
    needs="numpy apsw sqlite-vec",
    example=EXAMPLE,
    before=BEFORE,
)
