"""pgvector: a script of SQL that makes a table of bit strings in PostgreSQL."""

from pathlib import Path

from hashbench.foundation.parallel import slices
from hashbench.scoring.codes import Codes
from hashbench.showing.export.codes._target import BLOCK, Target

BEFORE = """
Load it, with pgvector 0.7 or later: `psql --set ON_ERROR_STOP=1 --file $file`. To load it again does no harm: the rows
take the place of those that the table has. In SQL a search is

```sql
SELECT id, code <~> B'...' AS distance FROM $table ORDER BY code <~> B'...' LIMIT 10;
```

with $bits characters 0 and 1 in place of `...`. An index makes it faster, and approximate:

```sql
CREATE INDEX IF NOT EXISTS ${table}_hnsw ON $table USING hnsw (code bit_hamming_ops);
```
"""

EXAMPLE = """
import psycopg

SEARCH = \"\"\"
    SELECT id, code <~> %(code)s::bit($bits) AS distance FROM $table
    ORDER BY code <~> %(code)s::bit($bits) LIMIT 10
\"\"\"
ids, distances = [], []
# the server, the user and the database are those of PGHOST, PGUSER, PGDATABASE and PGPASSWORD, as for psql
with psycopg.connect() as connection:
    for query in queries:
        rows = connection.execute(SEARCH, {"code": "".join(map(str, query))}).fetchall()
        ids.append([row[0] for row in rows])
        distances.append([row[1] for row in rows])
"""


def write(codes: Codes, path: Path, table: str) -> None:
    """Writes the script, which makes the ``table`` if there is none, and fills it; where anything fails, no table."""
    with path.open("w", encoding="ascii") as file:
        file.write("BEGIN;\nCREATE EXTENSION IF NOT EXISTS vector;\n")
        columns = f"id bigint PRIMARY KEY, code bit({codes.n_bits}) NOT NULL"
        file.write(f"CREATE TABLE IF NOT EXISTS {table} ({columns});\n")
        file.write(f"TRUNCATE {table};\nCOPY {table} (id, code) FROM stdin;\n")
        for rows in slices(len(codes), BLOCK):
            digits = (codes[rows].bits() + ord("0")).view(f"S{codes.n_bits}")[:, 0].astype(str)
            file.writelines(f"{row}\t{text}\n" for row, text in enumerate(digits.tolist(), rows.start))
        file.write("\\.\nCOMMIT;\n")


TARGET = Target(
    file="codes.sql",
    about="SQL that makes the table `$table` with the columns `id` and `code`, a `bit($bits)` whose first bit is bit 0",
    write=write,
    needs="numpy 'psycopg[binary]'",
    example=EXAMPLE,
    padded=False,
    before=BEFORE,
)
