"""A row: the stored result of one run, with everything that is needed to reproduce it."""

import hashlib
import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from itertools import chain
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from hashbench.codes.distinct import DistinctCodes
from hashbench.foundation.config import Strict, canonical_json, digest, json_object, parse
from hashbench.foundation.errors import HashbenchError, one_line, printable
from hashbench.foundation.provenance import Code
from hashbench.metrics import METRICS, MetricValue

SCHEMA: Literal[2] = 2
ACCURACY = "accuracy"  # of a classifier: no metric of codes, so it is in no catalogue
REMEDY = "delete it and run it again, or restore it from git"

# the queries search the database, also by weighted Hamming distances, or (sparse codes only) each other
Search = Literal["database", "weighted", "test"]
# what a run leaves besides its codes: the counts of its searches, and the weights that a classifier learned
Artefact = Literal["histogram", "retrieval", "retrieval_of_test", "weights"]
HEADINGS: dict[Search, str] = {"database": "", "weighted": "weighted: ", "test": "among the queries: "}


class OtherSchema(HashbenchError):  # noqa: N818  (what is found: such a row is not damaged)
    """A row of another schema version than this code reads."""


class Seconds(Strict):
    """Wall time of the parts of a run in seconds; ``train`` includes epochs before a restart."""

    train: float
    encode: float
    score: float


class Arithmetic(Strict):
    """How the encoder of a deep method was computed in training; it changes the rounding and does not name the run."""

    precision: Literal["float32", "bfloat16"]
    compiled: bool
    channels_last: bool
    processes: int


class Row(Strict):
    """The result of one run, and everything needed to reproduce it."""

    schema_version: Literal[2] = Field(alias="schema")
    run: str
    dataset: str
    protocol: str
    method: str
    settings: dict[str, int | float | str | bool]  # the keys the method declares, sorted
    budget: str
    seed: int
    split_seed: int | None = None  # the seed of the split if it is not the protocol's own
    config: dict[str, Any]  # fully resolved
    config_hash: str  # digest of config and seed: part of the run's name
    cell_hash: str  # digest of config without the seed: the same for all runs of a table's cell
    searches: dict[Search, dict[str, MetricValue]] = {}  # the metrics of each search that the run made, by name
    artefacts: dict[Artefact, str] = {}  # SHA-256
    distinct_codes: DistinctCodes | None = None  # of methods that make codes; older rows have none
    data_sha256: str
    features_sha256: str | None = None  # of the extracted features; None if the method used the items themselves
    ids_sha256: str
    code: Code
    versions: dict[str, str | None]
    hardware: dict[str, str | int | None]
    threads: dict[str, int] | None = None  # of each library that was loaded; rows of schema 1 do not say it
    peak_memory: int | None = None  # of the process, in bytes; rows of schema 1 do not say it
    utc: str
    seconds: Seconds | None
    arithmetic: Arithmetic | None = None  # of deep methods; older rows have none
    status: Literal["ok", "failed"]
    reason: str | None = None  # of a failure

    @property
    def metrics(self) -> Mapping[str, MetricValue]:
        """The metrics of the queries that search the database."""
        return self.searches.get("database", {})

    def all_metrics(self) -> dict[str, MetricValue]:
        """The metrics of all searches; the names of those by weighted distances and among the queries say so."""
        found = ((heading, self.searches.get(search, {})) for search, heading in HEADINGS.items())
        return {heading + name: value for heading, values in found for name, value in values.items()}


class Outcome(BaseModel):
    """How a run ended: some keys of its row, which are read five times as fast as the whole row."""

    model_config = ConfigDict(frozen=True)

    run: str
    dataset: str
    method: str
    config: dict[str, Any]
    seconds: Seconds | None
    status: Literal["ok", "failed"]
    reason: str | None = None


def made_by(row: Row) -> str:
    """When and where the row was made, and by which code, in one phrase."""
    machine = [row.hardware.get(key) for key in ("system", "cpu", "gpu")]
    where = ", ".join(str(part) for part in machine if part)
    commit = f"commit {row.code.commit[:7]}" if row.code.commit else f"hashbench {row.code.version}"
    return f"trained {row.utc[:10]} on {where}, {commit}{' with changes' if row.code.dirty else ''}"


def to_json(row: Row) -> str:
    """The row as one line of JSON, keys sorted."""
    return canonical_json(row.model_dump(by_alias=True))


# A line of a file of rows is {"run":NAME, all other keys sorted, "row_sha256":D}: D is the SHA-256 of the line's text
# without this last key. So a file is sorted by the names of its runs, and an edited line is found without parsing it.
_SIGNATURE = re.compile(r',"row_sha256":"([0-9a-f]{64})"\}$')


def to_line(row: Row) -> str:
    """The text of the row's line, with its digest and without a line feed."""
    return signed(to_json(row))


def signed(text: str) -> str:
    """The line of a row whose JSON is ``text``, with or without a digest, which is computed again."""
    content = json_object(text)
    content.pop("row_sha256", None)
    name = canonical_json({"run": content.pop("run")})
    unsigned = f"{name[:-1]},{canonical_json(content)[1:]}"
    return f'{unsigned[:-1]},"row_sha256":"{_sha256(unsigned)}"}}'


def from_line(line: str, place: str, *, strict: bool = False) -> Row:
    """The row in a line that ``to_line`` wrote.

    A line whose digest is right was written by hashbench. With ``strict`` it is not trusted nevertheless: its names,
    digests and values are compared, and ``place`` must begin with the file that belongs to its protocol.

    Raises:
        HashbenchError: The row is damaged or its values disagree; the message begins with ``place``.
        OtherSchema: The row is of another schema version.
    """
    found = _SIGNATURE.search(line)
    text = f"{line[: found.start()]}}}" if found else line
    fault = None
    if found is None:
        fault = "it has no row_sha256 at its end"
    elif found[1] != _sha256(text):
        fault = "row_sha256 is not the digest of the row: it was edited after it was written"
    elif not strict:
        try:
            return Row.model_validate_json(text)
        except ValidationError:
            pass  # what is wrong is said below
    row = parsed(text, place)
    if fault := next(chain(contradictions(row, Path(place).stem), out_of_range(row)), fault):
        raise not_written(place, fault)
    return row


def outcome_from_line(line: str, place: str) -> Outcome:
    """The outcome of the run in a line; raises as :func:`from_line` without ``strict``, whose digest is checked."""
    found = _SIGNATURE.search(line)
    text = f"{line[: found.start()]}}}" if found else line
    if found is not None and found[1] == _sha256(text):
        with suppress(ValidationError):  # what is wrong is said below
            return Outcome.model_validate_json(text)
    return Outcome.model_validate(from_line(line, place), from_attributes=True)


def parsed(text: str, place: str) -> Row:
    """The row whose JSON is ``text``, of which only the types are checked; raises as :func:`from_line`."""
    return from_content(content_of(text, SCHEMA, place), place)


def from_content(content: Mapping[str, Any], place: str) -> Row:
    """The row whose JSON object is ``content``."""
    try:
        return parse(Row, content, place)
    except HashbenchError as error:
        raise HashbenchError(f"{error}: {REMEDY}") from None


def content_of(text: str, schema: int, place: str) -> dict[str, Any]:
    """The JSON object ``text`` of a row of this schema version; raises as :func:`from_line`."""
    try:
        content = json_object(text)
    except ValueError as error:
        raise HashbenchError(f"{place}: not a readable row: {one_line(error)}: {REMEDY}") from None
    version = content.get("schema", schema)
    if type(version) is int and version != schema:
        raise OtherSchema(
            f"{place}: a row of schema version {version}; this hashbench reads {schema} here: use the version of "
            "hashbench that wrote it"
        )
    return content


def not_written(place: str, fault: str) -> HashbenchError:
    """The error of a row whose values no run gives."""
    return HashbenchError(f"{place}: not a row that hashbench wrote: {fault}: {REMEDY}")


def contradictions(row: Row, protocol_name: str) -> Iterator[str]:
    """What disagrees inside the row, or with the name of its file, such as ``cifar10-s1``."""
    if f"{row.dataset}-{row.protocol}" != protocol_name:
        yield f"it is of {printable(f'{row.dataset}-{row.protocol}')}, and the file is of {protocol_name}"
    for key in ("dataset", "protocol", "method", "budget"):
        if row.config.get(key) != getattr(row, key):
            yield f"config.{key} is {printable(repr(row.config.get(key)))}, {key} is {printable(getattr(row, key))}"
    if not (isinstance(row.config.get("settings"), dict) and isinstance(row.config.get("data"), dict)):
        yield "config has no settings or no data"
    elif row.split_seed is not None and row.config["data"].get("split", {}).get("seed") != row.split_seed:
        yield f"split_seed is {row.split_seed}, which is not the seed in config.data.split"
    if digest(row.config) != row.cell_hash:
        yield "cell_hash is not the digest of config"
    if digest({**row.config, "seed": row.seed}) != row.config_hash:
        yield "config_hash is not the digest of config and seed"


def out_of_range(row: Row) -> Iterator[str]:
    """The values that no run can give."""
    for search, values in row.searches.items():
        for name, value in values.items():
            yield from (f"{search}.{printable(name)}.{fault}" for fault in _faults_of(name, value))
    n_queries = min((value.n_queries for value in row.metrics.values()), default=None)
    if row.distinct_codes and n_queries is not None and row.distinct_codes.queries > n_queries:
        yield f"distinct_codes.queries is {row.distinct_codes.queries} of {n_queries} queries"
    if row.seconds and min(row.seconds.model_dump().values()) < 0:
        yield "seconds are negative"


def _faults_of(name: str, value: MetricValue) -> Iterator[str]:
    """What cannot be in the value of a metric: a mean or a deviation out of range, or more empty queries than all."""
    if not 0 <= value.n_empty <= value.n_queries:
        yield f"n_empty is {value.n_empty} of {value.n_queries} queries"
    stem = re.split(r"[@(]", name)[0]
    # one of our metrics with values from 0 to 1: the accuracy, and all but the speed-up
    is_fraction = stem == ACCURACY or (stem != "suf" and stem in METRICS and METRICS.provider(stem) is None)
    for part, number in (("mean", value.mean), ("std", value.std)):
        if number is not None and (number < 0 or (number > 1 and is_fraction)):
            yield f"{part} is {number:g}"


def _sha256(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
