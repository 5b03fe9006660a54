"""Milvus: rows of a BINARY_VECTOR, as JSON lines."""

import json
from pathlib import Path

from hashbench.foundation.parallel import slices
from hashbench.scoring.codes import Codes
from hashbench.showing.export.codes._target import BLOCK, Target

EXAMPLE = """
import json

from pymilvus import DataType, MilvusClient

client = MilvusClient("milvus.db")
client.drop_collection("$table")  # where it was loaded before
schema = client.create_schema()
schema.add_field("id", DataType.INT64, is_primary=True)
schema.add_field("code", DataType.BINARY_VECTOR, dim=$stored_bits)
index = client.prepare_index_params()
index.add_index("code", index_type="BIN_FLAT", metric_type="HAMMING")
client.create_collection("$table", schema=schema, index_params=index)
with open("$file") as lines:
    rows = [{"id": row["id"], "code": bytes(row["code"])} for row in map(json.loads, lines)]
for first in range(0, len(rows), 10_000):
    client.insert("$table", rows[first : first + 10_000])

found = client.search("$table", [query.tobytes() for query in packed], anns_field="code", limit=10)
ids = [[hit["id"] for hit in hits] for hits in found]
distances = [[hit["distance"] for hit in hits] for hits in found]
"""

BEFORE = """
`MilvusClient("milvus.db")` is Milvus Lite, which has binary vectors in version 2.5 and, to 3.2 at least, none in
version 3; `MilvusClient("http://localhost:19530")` is a server. The example loads the codes into the collection
`$table`, anew each time; once they are loaded, its last three lines search.
"""


def write(codes: Codes, path: Path, _table: str) -> None:
    """Writes an object a line: ``id``, and ``code``, the values of its bytes."""
    packed = codes.packbits()
    with path.open("w", encoding="ascii") as file:
        for rows in slices(len(codes), BLOCK):
            for row, code in enumerate(packed[rows].tolist(), rows.start):
                file.write(json.dumps({"id": row, "code": code}) + "\n")


TARGET = Target(
    file="codes.jsonl",
    about="an object a line: `id`, and `code`, the bytes of a `BINARY_VECTOR` of $stored_bits bits as numbers",
    write=write,
    needs="numpy pymilvus 'milvus-lite<3' 'setuptools<80'",
    example=EXAMPLE,
    before=BEFORE,
)
