"""The manifest of a bundle: the table that it is of, what made it, and the checksum of every other file."""

from typing import Annotated, Literal

from pydantic import Field, StringConstraints, field_validator

from hashbench.bundle import layout
from hashbench.foundation.config import Strict, json_object, parse
from hashbench.foundation.errors import HashbenchError, one_line, printable
from hashbench.foundation.provenance import Code

SCHEMA: Literal[1] = 1
Sha256 = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{64}$")]
Name = Annotated[str, StringConstraints(pattern=f"^{layout.NAME}$")]


class Manifest(Strict):
    """The content of manifest.json."""

    schema_version: Literal[1] = Field(alias="schema")
    table: Name
    budget: Name | None  # as hashbench table takes it; None: the table's own
    n_splits: Annotated[int, Field(ge=1)]
    n_seeds: Annotated[int, Field(ge=1)] | None  # seeds 0 .. n_seeds - 1; None: all that were stored
    codes: bool  # False: --no-codes
    code: Code  # the hashbench that packed it
    versions: dict[str, str | None]
    files: dict[str, Sha256]  # every file but this one

    @field_validator("files")
    @classmethod
    def _are_of_a_bundle(cls, files: dict[str, str]) -> dict[str, str]:
        for name in files:
            if name == layout.MANIFEST or layout.most_bytes(name) is None:
                raise ValueError(f"{printable(name)} is no file of a bundle")
        return files

    @property
    def table_command(self) -> str:
        """What stands after the options of ``hashbench``: the command that renders the table."""
        budget = f" --budget {self.budget}" if self.budget else ""
        splits = f" --splits {self.n_splits}" if self.n_splits > 1 else ""
        return f"table {self.table}{budget}{splits}"


def read(text: bytes, where: str) -> Manifest:
    """The manifest in a file; raises HashbenchError if it is not one, or has a schema that is not known."""
    try:
        values = json_object(text.decode("utf-8"))
    except (ValueError, RecursionError) as error:
        raise HashbenchError(f"{where}: not a manifest: {printable(one_line(error), 200)}") from None
    schema = values.get("schema")
    if schema != SCHEMA or isinstance(schema, bool):
        shown = printable(repr(schema))
        raise HashbenchError(f"{where}: schema {shown} is unknown: this hashbench reads schema {SCHEMA}")
    return parse(Manifest, values, where)
