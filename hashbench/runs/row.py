"""A row: the stored result of one run, with everything that is needed to reproduce it."""

import hashlib
import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from itertools import chain
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError

from hashbench.codes.distinct import DistinctCodes
from hashbench.foundation.config import Strict, canonical_json, digest, json_object, parse
from hashbench.foundation.errors import HashbenchError, printable, retold
from hashbench.foundation.provenance import LIBRARIES, Code
from hashbench.metrics import METRICS, MetricValue

SCHEMA: Literal[2] = 2
ACCURACY = "accuracy"  # of a classifier: no metric of codes, so it is in no catalogue

IMPORTED = "imported"  # the budget of runs whose codes were made elsewhere: hashbench scored them and trained nothing

MOST_OF_MAKER = 80  # characters

REMEDY = "delete it and run it again, or restore it from git"

# the queries search the database, also by weighted Hamming distances or by their activations, or (sparse codes only)
# each other
Search = Literal["database", "weighted", "asymmetric", "test"]
# what a run leaves besides its codes: the counts of its searches, and the weights that a classifier learned
Artefact = Literal["histogram", "retrieval", "retrieval_of_test", "weights"]
HEADINGS: dict[Search, str] = {
    "database": "",
    "weighted": "weighted: ",
    "asymmetric": "asymmetric: ",
    "test": "among the queries: ",
}


def maker_name(name: str) -> str:
    """``name``, if it can be that of who made a row; else raises ValueError."""
    if not (name and name.isprintable() and name == " ".join(name.split()) and len(name) <= MOST_OF_MAKER):
        expected = f"a name on one line, of at most {MOST_OF_MAKER} characters that can be printed, is expected"
        raise ValueError(f"{printable(repr(name))}: {expected}")
    return name


Maker = Annotated[str, AfterValidator(maker_name)]  # as they call themselves


class OtherSchema(HashbenchError):  # noqa: N818  (such a row is not damaged)
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
    settings: dict[str, int | float | str | bool]  # declared by the method, or unusual; config has all
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
    threads: dict[str, int] | None = None  # of each library that was loaded; older rows do not say it
    peak_memory: int | None = None  # of the process, in bytes; older rows do not say it
    hasher_bytes: int | None = None  # of the saved hash function, without the features that it takes; later rows say it
    objective: dict[str, float] | None = None  # what it logs, as the distances of its centres; later rows say it
    utc: str
    seconds: Seconds | None
    arithmetic: Arithmetic | None = None  # of deep methods; older rows have none
    status: Literal["ok", "failed"]
    reason: str | None = None  # of a failure
    maker: Maker | None = None  # of a row that somebody contributed

    @property
    def is_imported(self) -> bool:
        """Whether the codes were made elsewhere; code, machine and time are then those of the scoring."""
        return self.budget == IMPORTED

    @property
    def metrics(self) -> Mapping[str, MetricValue]:
        """The metrics of the queries that search the database."""
        return self.searches.get("database", {})

    def all_metrics(self) -> dict[str, MetricValue]:
        """The metrics of all searches; the names of all but those of the database by Hamming distance say so."""
        found = ((heading, self.searches.get(search, {})) for search, heading in HEADINGS.items())
        return {heading + name: value for heading, values in found for name, value in values.items()}


class RowOutcome(BaseModel):
    """How a run ended: some keys of its row, which are read five times as fast as the whole row."""

    model_config = ConfigDict(frozen=True)

    run: str
    dataset: str
    protocol: str
    method: str
    config: dict[str, Any]
    searches: dict[str, Any] = {}
    seconds: Seconds | None
    status: Literal["ok", "failed"]
    reason: str | None = None


def processor_of(row: Row) -> str:
    """The GPU, if there was one, and the processor that the row was made on."""
    return ", ".join(str(row.hardware[key]) for key in ("gpu", "cpu") if row.hardware.get(key)) or "unknown"


def made_by(row: Row) -> str:
    """When and where the row was made, and by which code, in one phrase."""
    machine = [row.hardware.get(key) for key in ("system", "cpu", "gpu")]
    where = ", ".join(str(part) for part in machine if part)
    commit = f"commit {row.code.commit[:7]}" if row.code.commit else f"hashbench {row.code.version}"
    did = "codes made elsewhere, imported" if row.is_imported else "trained"
    by = f" by {row.maker}" if row.maker else ""
    return f"{did}{by} {row.utc[:10]} on {where}, {commit}{' with changes' if row.code.dirty else ''}"


def provider_of(row: Row) -> str | None:
    """The name and version of the package that brought the row's method; None for a method of hashbench."""
    own = {"python", "cuda", *LIBRARIES}  # as provenance.versions() names them
    found = (f"{package} {version}" for package, version in row.versions.items() if package not in own)
    return next(map(printable, found), None)


def to_json(row: Row) -> str:
    """The row as one line of JSON, keys sorted; without a maker, a size or an objective as before there were any."""
    absent = {key for key in ("maker", "hasher_bytes", "objective") if getattr(row, key) is None}
    return canonical_json(row.model_dump(by_alias=True, exclude=absent))


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
    """The row in a line; a right digest is trusted unless ``strict``. HashbenchError if damaged; OtherSchema."""
    text, fault = _unsigned(line)
    if fault is None and not strict:
        with suppress(ValidationError):  # what is wrong is said below
            return Row.model_validate_json(text)
    return _checked(_of_content(_content_of(text, place), place), Path(place).stem, place, fault)


def outcome_from_line(line: str, place: str) -> RowOutcome:
    """The outcome of the run in a line; raises as :func:`from_line` without ``strict``, whose digest is checked."""
    text, fault = _unsigned(line)
    if fault is None:
        with suppress(ValidationError):  # what is wrong is said below
            return RowOutcome.model_validate_json(text)
    return RowOutcome.model_validate(from_line(line, place), from_attributes=True)


def _unsigned(line: str) -> tuple[str, str | None]:
    """The text of a line without its digest; and what is wrong with the digest, if anything."""
    if (found := _SIGNATURE.search(line)) is None:
        return line, "it has no row_sha256 at its end"
    text = f"{line[: found.start()]}}}"
    edited = "row_sha256 is not the digest of the row: it was edited after it was written"
    return text, None if found[1] == _sha256(text) else edited


def _content_of(text: str, place: str) -> dict[str, Any]:
    with retold(lambda cause: f"{place}: not a readable row: {cause}: {REMEDY}", ValueError):
        content = json_object(text)
    version = content.get("schema", SCHEMA)
    if type(version) is int and version != SCHEMA:
        advice = f"this hashbench reads {SCHEMA} here: use the version of hashbench that wrote it"
        raise OtherSchema(f"{place}: a row of schema version {version}; {advice}")
    return content


def _of_content(content: Mapping[str, Any], place: str) -> Row:
    with retold(lambda fault: f"{fault}: {REMEDY}", HashbenchError):
        return parse(Row, content, place)


def _checked(row: Row, protocol_name: str, place: str, fault: str | None) -> Row:
    """The row; raises HashbenchError if no run can have given it; ``protocol_name`` is as ``cifar10-s1``."""
    if fault := next(chain(_contradictions(row, protocol_name), _out_of_range(row)), fault):
        raise HashbenchError(f"{place}: not a row that hashbench wrote: {fault}: {REMEDY}")
    return row


def _contradictions(row: Row, protocol_name: str) -> Iterator[str]:
    if f"{row.dataset}-{row.protocol}" != protocol_name:
        yield f"it is of {printable(f'{row.dataset}-{row.protocol}')}, and the file is of {protocol_name}"
    for key in ("dataset", "protocol", "method", "budget"):
        if row.config.get(key) != getattr(row, key):
            yield f"config.{key} is {printable(repr(row.config.get(key)))}, {key} is {printable(getattr(row, key))}"
    if not (isinstance(row.config.get("settings"), dict) and isinstance(row.config.get("data"), dict)):
        yield "config has no settings or no data"
    elif row.split_seed is not None and row.config["data"].get("split", {}).get("seed") != row.split_seed:
        yield f"split_seed is {row.split_seed}, which is not the seed in config.data.split"
    if not re.fullmatch(r"[A-Za-z0-9_.+-]+", row.run):  # folders are called as runs, and files as checksums
        yield f"run is {printable(row.run)}: letters, digits, _ . + and - make the name of a run"
    if other := next((each for each in row.artefacts.values() if not re.fullmatch("[0-9a-f]{64}", each)), None):
        yield f"artefacts have {printable(other)}: the SHA-256 of a file is expected"
    if digest(row.config) != row.cell_hash:
        yield "cell_hash is not the digest of config"
    if digest({**row.config, "seed": row.seed}) != row.config_hash:
        yield "config_hash is not the digest of config and seed"


def _out_of_range(row: Row) -> Iterator[str]:
    for search, values in row.searches.items():
        for name, value in values.items():
            yield from (f"{search}.{printable(name)}.{fault}" for fault in _faults_of(name, value))
    n_queries = min((value.n_queries for value in row.metrics.values()), default=None)
    if row.distinct_codes and n_queries is not None and row.distinct_codes.queries > n_queries:
        yield f"distinct_codes.queries is {row.distinct_codes.queries} of {n_queries} queries"
    if row.seconds and min(row.seconds.model_dump().values()) < 0:
        yield "seconds are negative"


def _faults_of(name: str, value: MetricValue) -> Iterator[str]:
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
