"""A row: the stored result of one run, with everything that is needed to reproduce it."""

import hashlib
import math
import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from datetime import datetime
from functools import lru_cache
from itertools import chain, pairwise
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field, ValidationError

from hashbench.foundation.config import (
    BEYOND_INTEGERS,
    Count,
    Integer,
    Strict,
    Text,
    canonical_json,
    digest,
    json_object,
    parse,
)
from hashbench.foundation.errors import CheckFailed, HashbenchError, printable, retold
from hashbench.foundation.provenance import LIBRARIES, Code
from hashbench.scoring.codes.distinct import DistinctCodes
from hashbench.scoring.metrics import METRICS, MetricValue

SCHEMA: Literal[2] = 2
RUN = "run.json"  # the row, and the card of the data set: what a folder that is moved needs to encode

ACCURACY = "accuracy"  # of a classifier: no metric of codes, so it is in no catalogue

IMPORTED = "imported"  # the budget of runs whose codes were made elsewhere: hashbench scored them and trained nothing

MOST_OF_MAKER = 80  # characters
MOST_OF_ROW = 1 << 16  # characters of its line; the longest that is committed has 7,000
ROUNDING = 1e-9  # of the sums that metrics are

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


_TIME = re.compile(r"2[01]\d\d-\d\d-\d\dT\d\d:\d\d:\d\dZ", re.ASCII)


def time_text(text: str) -> str:
    """``text``, if it is a time as ``provenance.utc`` writes it, of this century or the next; else ValueError."""
    if _TIME.fullmatch(text):
        with suppress(ValueError):
            datetime.fromisoformat(text)
            return text
    raise ValueError("a time in UTC such as 2026-01-31T12:00:00Z is expected")


Time = Annotated[str, AfterValidator(time_text)]
Sha256 = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]


class OtherSchema(HashbenchError):  # noqa: N818  (such a row is not damaged)
    """A row of another schema version than this code reads."""


class Seconds(Strict):
    """Wall time of the parts of a run in seconds; ``train`` includes epochs before a restart."""

    train: Annotated[float, Field(ge=0)]
    encode: Annotated[float, Field(ge=0)]
    score: Annotated[float, Field(ge=0)]


class Arithmetic(Strict):
    """How the encoder of a deep method was computed in training; it changes the rounding and does not name the run."""

    precision: Literal["float32", "bfloat16"]
    compiled: bool = False  # these three were options once
    channels_last: bool = True
    processes: Count


class Row(Strict):
    """The result of one run, and everything needed to reproduce it."""

    schema_version: Literal[2] = Field(alias="schema")
    run: Text
    dataset: Text
    protocol: Text
    method: Text
    settings: dict[Text, Integer | float | Text | bool]  # declared by the method, or unusual; config has all
    budget: Text
    seed: Count
    split_seed: Integer | None = None  # the seed of the split if it is not the protocol's own
    config: dict[str, Any]  # fully resolved
    config_hash: Sha256  # digest of config and seed: part of the run's name
    cell_hash: Sha256  # digest of config without the seed: the same for all runs of a table's cell
    searches: dict[Search, dict[Text, MetricValue]] = {}  # the metrics of each search that the run made, by name
    artefacts: dict[Artefact, Sha256] = {}
    distinct_codes: DistinctCodes | None = None  # of methods that make codes; older rows have none
    data_sha256: Sha256
    features_sha256: Sha256 | None = None  # of the extracted features; None if the method used the items themselves
    ids_sha256: Sha256
    code: Code
    versions: dict[Text, Text | None]
    hardware: dict[Text, Text | Count | None]
    threads: dict[Text, Count] | None = None  # of each library that was loaded; older rows do not say it
    peak_memory: Count | None = None  # of the process, in bytes; older rows do not say it
    hasher_bytes: Count | None = None  # of the saved hash function, without the features that it takes; later rows
    objective: dict[Text, float] | None = None  # what it logs, as the distances of its centres; later rows say it
    utc: Time
    seconds: Seconds | None
    arithmetic: Arithmetic | None = None  # of deep methods; older rows have none
    status: Literal["ok", "failed"]
    reason: Text | None = None  # of a failure
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
        searches = ((heading, self.searches.get(search, {})) for search, heading in HEADINGS.items())
        return {heading + name: value for heading, values in searches for name, value in values.items()}


def processor_of(row: Row) -> str:
    """The GPU, if there was one, and the processor that the row was made on."""
    return ", ".join(str(row.hardware[key]) for key in ("gpu", "cpu") if row.hardware.get(key)) or "unknown"


def made_by(row: Row) -> str:
    """When and where the row was made, and by which code, in one phrase."""
    machine = [row.hardware.get(key) for key in ("system", "cpu", "gpu")]
    where = ", ".join(str(part) for part in machine if part)
    commit = f"hashbench {row.code.version}"
    if row.code.commit:
        commit = f"commit {row.code.commit[:7]}"
    changes = " with changes" if row.code.dirty else ""
    did = "codes made elsewhere, imported" if row.is_imported else "trained"
    by = f" by {row.maker}" if row.maker else ""
    return f"{did}{by} {row.utc[:10]} on {where}, {commit}{changes}"


def provider_of(row: Row) -> str | None:
    """The name and version of the package that brought the row's method; None for a method of hashbench."""
    libraries = {"python", "cuda", *LIBRARIES}  # as provenance.versions() names them
    packages = (f"{package} {version}" for package, version in row.versions.items() if package not in libraries)
    return next(map(printable, packages), None)


def to_json(row: Row) -> str:
    """The row as one line of JSON, keys sorted."""
    return canonical_json(values_of(row))


def values_of(row: Row) -> dict[str, Any]:
    """The row as an object for JSON; without a maker, a size or an objective as before there were any."""
    absent = {key for key in ("maker", "hasher_bytes", "objective") if getattr(row, key) is None}
    return row.model_dump(by_alias=True, exclude=absent)


_RUN = re.compile(r"[A-Za-z0-9_.+-]+")
# A line of a file of rows is {"run":NAME, all other keys sorted, "row_sha256":D}: D is the SHA-256 of the line's text
# without this last key. So a file is sorted by the names of its runs, and an edited line is found without parsing it.
_ESCAPED = re.compile(r"(?<!\\)(?:\\\\)*\\[bfnrtu]")  # and no text that has a backslash
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


def from_line(line: str, place: str, *, names_protocol: bool = True) -> Row:
    """The row in a line of the file ``place``, which may be of anybody; ``names_protocol``: as cifar10-s1.jsonl does.

    Raises CheckFailed if no run can have given it, with the first fault; OtherSchema.
    """
    text, fault = _unsigned(line)
    try:
        row = Row.model_validate_json(text)
    except ValidationError:  # what is wrong is said below
        row = None
    if row is None or fault is not None:
        with retold(lambda cause: f"{place}: not a readable row: {cause}: {REMEDY}", ValueError, by=CheckFailed):
            content = json_object(text)
        version = content.get("schema", SCHEMA)
        if type(version) is int and version != SCHEMA:
            advice = f"this hashbench reads {SCHEMA} here: use the version of hashbench that wrote it"
            raise OtherSchema(f"{place}: a row of schema version {version}; {advice}")
        with retold(lambda cause: f"{cause}: {REMEDY}", HashbenchError, by=CheckFailed):
            row = parse(Row, content, place)
    protocol = None
    if names_protocol:
        protocol = Path(place).stem
    contradictions = chain(_contradictions(row, protocol), _other_digests(row, text))
    if (first := next(chain(contradictions, _out_of_range(row), _faults_of_text(row, text)), fault)) is not None:
        raise CheckFailed(f"{place}: not a row that hashbench wrote: {first}: {REMEDY}")
    return row


def _unsigned(line: str) -> tuple[str, str | None]:
    """The text of a line without its digest; and what is wrong with the digest, if anything."""
    if (signature := _SIGNATURE.search(line)) is None:
        return line, "it has no row_sha256 at its end"
    text = f"{line[: signature.start()]}}}"
    if signature[1] == _sha256(text):
        return text, None
    return text, "row_sha256 is not the digest of the row: it was edited after it was written"


def _contradictions(row: Row, protocol_name: str | None) -> Iterator[str]:
    """What in a row contradicts the rest of it or ``protocol_name``, such as cifar10-s1, if it is given."""
    config = row.config
    if protocol_name is not None and f"{row.dataset}-{row.protocol}" != protocol_name:
        yield f"it is of {printable(f'{row.dataset}-{row.protocol}')}, and the file is of {protocol_name}"
    for key in ("dataset", "protocol", "method", "budget"):
        value = getattr(row, key)
        if config.get(key) != value:
            yield f"config.{key} is {printable(repr(config.get(key)))}, {key} is {printable(value)}"
    settings = config.get("settings")
    data = config.get("data")
    if not (isinstance(settings, dict) and isinstance(data, dict)):
        yield "config has no settings or no data"
    else:
        yield from _other_settings(row, settings)
        yield from _other_data(row, data)
    end = f"-s{row.seed}-{row.config_hash[:10]}"
    if not (row.run.startswith(f"{row.dataset}-{row.protocol}-{row.method}-") and row.run.endswith(end)):
        yield f"run is {printable(row.run)}: of these names, seed and configuration it is {row.method}-...{end}"
    if not _RUN.fullmatch(row.run):  # folders are called as runs
        yield f"run is {printable(row.run)}: letters, digits, _ . + and - make the name of a run"
    if row.status == "ok" and not (row.searches and all(row.searches.values())):
        yield "it did not fail, and searches has no metrics"
    if row.status == "failed" and row.searches:
        yield "it failed, and searches has metrics"
    if (row.status == "failed") != bool(row.reason):
        yield "reason is that of a failure: a failed row has one, and no other"


def _other_settings(row: Row, settings: Mapping[str, Any]) -> Iterator[str]:
    for key, value in row.settings.items():
        if settings.get(key, value) != value:
            yield f"settings.{printable(key)} is {printable(repr(value))}, in config {printable(repr(settings[key]))}"


def _other_data(row: Row, data: Mapping[str, Any]) -> Iterator[str]:
    """Where the checksums and the seed of the split are not those that ``config.data`` pins."""
    split = data.get("split", {})
    if not isinstance(split, dict):
        yield "config.data.split is no table"
        return
    if row.split_seed is not None and split.get("seed") != row.split_seed:
        yield f"split_seed is {row.split_seed}, which is not the seed in config.data.split"
    if data.get("content_sha256") not in (None, row.data_sha256):
        yield "data_sha256 is not the checksum in config.data"
    if split.get("ids_sha256") not in (None, row.ids_sha256) and not _has_fewer_classes(row.config):
        yield "ids_sha256 is not the checksum in config.data.split"


def _has_fewer_classes(config: Mapping[str, Any]) -> bool:
    """Whether the ids of the run are those of some classes only, which the protocol's checksum is not of."""
    base = config.get("base", config)
    settings = base.get("settings") if isinstance(base, dict) else None
    return isinstance(settings, dict) and bool(settings.get("n_classes"))


def _other_digests(row: Row, text: str) -> Iterator[str]:
    """Where a digest is not that of the configuration; ``text`` is the line.

    The line has the configuration as the canonical JSON that digests are of: so no JSON is written for most rows.
    """
    config_text = _text_of_config(text)
    if _sha256(config_text) != row.cell_hash and _digest(row.config) != row.cell_hash:
        yield "cell_hash is not the digest of config"
    before, settings_key, after = config_text.rpartition(',"settings":')
    with_seed = f'{before},"seed":{row.seed}{settings_key}{after}'  # where sorted keys have it
    if _sha256(with_seed) != row.config_hash and _digest({**row.config, "seed": row.seed}) != row.config_hash:
        yield "config_hash is not the digest of config and seed"


def _text_of_config(text: str) -> str:
    """The JSON of config in a row's line; empty where these keys might stand somewhere else too, or be escaped."""
    if "\\" in text or text.count('"config"') != 1 or text.count('"config_hash"') != 1:
        return ""
    return text.partition('"config":')[2].partition(',"config_hash":')[0]


def _digest(values: Mapping[str, Any]) -> str | None:
    """The digest of values from outside; None of such that canonical JSON cannot hold, as NaN."""
    try:
        return digest(values)
    except ValueError:
        return None


def _out_of_range(row: Row) -> Iterator[str]:
    for search, values in row.searches.items():
        for name, value in values.items():
            mean = value.mean
            std = value.std
            most = _maximum(name)
            if not 0 <= value.n_empty <= value.n_queries < BEYOND_INTEGERS:
                yield f"{search}.{printable(name)}.n_empty is {value.n_empty} of {value.n_queries} queries"
            if (mean is None) != (value.n_empty == value.n_queries):
                yield f"{search}.{printable(name)} has a mean exactly where a query has a relevant item"
            if mean is not None and not 0 <= mean <= most:
                yield f"{search}.{printable(name)}.mean is {mean:g}"
            if std is not None and not 0 <= std <= most / 2 + ROUNDING:  # at most: a half of the queries has the most
                yield f"{search}.{printable(name)}.std is {std:g}"
        yield from _out_of_order(search, values)
        if len({value.n_queries for value in values.values()}) > 1:
            yield f"{search} has metrics of different numbers of queries"
    if row.distinct_codes is not None:
        n_queries = min((value.n_queries for value in row.metrics.values()), default=math.inf)
        if row.distinct_codes.queries > n_queries:
            yield f"distinct_codes.queries is {row.distinct_codes.queries} of {n_queries} queries"


@lru_cache(maxsize=1024)  # of thousands of rows it is asked for the same few
def _maximum(name: str) -> float:
    """The largest value that the metric called ``name`` can have; infinite for one of another package or nobody."""
    stem = re.split(r"[@(]", name)[0]
    if stem == ACCURACY:
        return 1.0
    is_ours = stem in METRICS and METRICS.provider(stem) is None
    if is_ours:
        return METRICS.get(stem).maximum
    return math.inf


def _out_of_order(search: Search, values: Mapping[str, MetricValue]) -> Iterator[str]:
    """Where AP is less than in the worst order of ties, or more than in the best."""
    means = {name: value.mean for name in ("ap_worst", "ap", "ap_best") if (value := values.get(name)) is not None}
    known = [(name, mean) for name, mean in means.items() if mean is not None]
    for (lower, low), (upper, high) in pairwise(known):
        if low > high + ROUNDING:
            yield f"{search}.{lower}.mean is {low:g}, more than that of {upper}, {high:g}"


def _faults_of_text(row: Row, text: str) -> Iterator[str]:
    """Where the line of a row is too long, begins with something else than its run, or cannot be printed."""
    if len(text) > MOST_OF_ROW:
        yield f"it has {len(text):,} characters: {MOST_OF_ROW:,} at most"
    if not text.startswith(f'{{"run":"{row.run}"'):  # the line is found by it
        yield "run is not its first key"
    if not text.isprintable() or "\\" in text:  # JSON writes what cannot be printed after a backslash
        written = to_json(row)
        if not written.isprintable() or _ESCAPED.search(written):
            yield "a text of it has characters that cannot be printed"


def _sha256(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
