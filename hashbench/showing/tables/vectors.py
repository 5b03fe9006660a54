"""Codes of vectors without labels, compared: which are made, the table that declares them, and their lines.

The k nearest items by floats are relevant. So recall@m is the recall@k after the first m items by codes are ordered
again by the floats, and a line has it for m = k and for some times as many candidates.
"""

import math
import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from hashbench.foundation.config import Setting
from hashbench.foundation.errors import HashbenchError, counted, retold
from hashbench.foundation.progress import with_bar
from hashbench.learning.contract import PIXELS, BitSettings
from hashbench.learning.methods import METHODS
from hashbench.running.datasets.card import Card
from hashbench.running.datasets.protocol import Neighbours
from hashbench.running.features import width_of
from hashbench.running.runs.data import require_supervision
from hashbench.running.runs.needs import require_pytorch
from hashbench.running.runs.query_scores import range_of
from hashbench.running.runs.row import HEADINGS, Row
from hashbench.running.runs.run import Run
from hashbench.running.runs.search_cost import SearchCost, search_cost
from hashbench.running.runs.settings import FORM, method_file
from hashbench.running.runs.store import Store
from hashbench.scoring.codes import MAX_BITS
from hashbench.scoring.metrics import Metrics, evaluate_with_extremes, summarise
from hashbench.showing.sheet import Cell, Grid, Number, Range, Sheet, Value, records

METHODS_OF_VECTORS = ("sign", "itq", "pq", "opq", "rabitq", "turboquant", "scalar")
LENGTHS = (64, 128, 256)  # of codes, and as many bits as a vector has numbers
SHORT = {"opq": 128}  # the most bits unless others are asked for: a rotation is learnt in minutes for each length
BITS_OF_A_NUMBER = {"rabitq": (1, 2, 4), "turboquant": (1, 2, 4), "scalar": (8,)}
VARIANTS: dict[str, dict[str, dict[str, Setting]]] = {"sign": {"Sign": {}, "Sign at the median": {"centre": "median"}}}
MAIN_FACTOR = 4  # that the picture and the last sentence have, if it is among the factors and leaves out items

SHARE = ".3f"  # how recalls are rounded

Query = Literal["bits", "float"]


@dataclass(frozen=True)
class Code:
    """A code that is compared: the run with seed 0 that makes it, and its name without the number of bits."""

    title: str
    settings: dict[str, Setting]
    run: Run

    @property
    def bits(self) -> int:
        """The bits of a vector, without what is stored beside them."""
        return int(self.settings["bits"])

    @property
    def label(self) -> str:
        """Its name with the number of bits, of no other code."""
        return f"{self.title}, {counted(self.bits, 'bit')}"

    @property
    def is_binary(self) -> bool:
        """Whether a query has a code too, so that Hamming distances rank."""
        return issubclass(self.run.method.settings, BitSettings)


@dataclass(frozen=True)
class Comparison:
    """Codes of the vectors of a protocol, and the numbers of candidates that are rescored, as ``factors`` of k."""

    card: Card
    protocol: str
    codes: Sequence[Code]
    factors: Sequence[int]

    @property
    def rule(self) -> Neighbours:
        """Which items are relevant."""
        return neighbours_rule(self.card, self.protocol)

    @property
    def n_base(self) -> float:
        """The number of items that are searched, infinity if the protocol does not say it."""
        return self.card.protocol(self.protocol).n_database or math.inf

    @property
    def main_factor(self) -> int:
        """The factor by which codes are chosen: 4, or the largest whose candidates are not the whole base."""
        choosing = [factor for factor in self.factors if factor * self.rule.k < self.n_base]
        if MAIN_FACTOR in choosing:
            return MAIN_FACTOR
        return max(choosing, default=1)

    @property
    def nearest(self) -> str:
        """The relevant items in words."""
        return "the nearest" if self.rule.k == 1 else f"the {self.rule.k} nearest"

    def metric(self, factor: int) -> str:
        """The metric of the codes alone (1), or with so many times k candidates."""
        return f"recall@{factor * self.rule.k}"

    @property
    def title(self) -> str:
        """What is compared, in one line."""
        return f"Codes for the vectors of {self.card.name}: recall of {self.nearest} by {self.rule.metric}"


@dataclass(frozen=True)
class Line:
    """What was measured of a code with queries in ``bits`` (Hamming distance) or in floats.

    ``recalls`` are by factor: 1 is the codes alone; ``worst`` and ``best`` are their ends over the orders of ties.
    """

    code: Code
    query: Query
    row: Row
    recalls: dict[int, float]
    cost: SearchCost
    worst: float | None = None
    best: float | None = None

    @property
    def without_floats(self) -> float | None:
        """The recall where the main number of candidates is ordered again by query times bits, without floats."""
        return self.cost.without_floats if self.query == "bits" else None

    @property
    def bytes_per_vector(self) -> int:
        """Everything that is stored of a vector."""
        n_bytes = self.code.run.settings.bytes_per_item
        assert n_bytes is not None, "codes of bits and quantisers say their bytes"
        return n_bytes

    @property
    def label(self) -> str:
        """The code, and its query if that is no code."""
        if self.code.is_binary and self.query == "float":
            return f"{self.code.label}, float query"
        return self.code.label


def neighbours_rule(card: Card, protocol: str) -> Neighbours:
    """The rule by which neighbours are relevant; HashbenchError where another one decides."""
    rule = card.protocol(protocol).relevance
    if not isinstance(rule, Neighbours):
        raise HashbenchError(f"{card.name} {protocol}: its relevance is not by neighbours")
    return rule


def codes_of(
    card: Card, protocol: str, methods: Sequence[str] | None, lengths: Sequence[int] | None
) -> tuple[list[Code], list[str]]:
    """The codes that are compared, in the order of their bits, and a line for each default method that makes none.

    Raises HashbenchError for a named method that makes none of the lengths, and for a length that no method makes.
    """
    features = neighbours_rule(card, protocol).features
    width = width_of(card, features or PIXELS)
    codes: list[Code] = []
    left_out = []
    faults: dict[int, str] = {}
    for method in methods or METHODS_OF_VECTORS:
        n_before = len(codes)
        first_fault = ""
        for bits in lengths or _lengths(method, width):
            try:
                codes += _codes(card, protocol, method, bits, features, width)
            except HashbenchError as error:
                faults.setdefault(bits, str(error))
                first_fault = first_fault or str(error)
        if len(codes) == n_before:
            if methods is not None:
                raise HashbenchError(first_fault)
            left_out.append(f"left out: {first_fault}")
    possible = {code.bits for code in codes}
    if impossible := [bits for bits in lengths or () if bits not in possible]:
        raise HashbenchError(f"--bits {impossible[0]}: no method makes such codes: {faults[impossible[0]]}")
    if not codes:
        raise HashbenchError(f"{card.name}: no method makes codes of its vectors: {left_out[0]}")
    return sorted(codes, key=lambda code: code.bits), left_out


def _lengths(method: str, width: int) -> list[int]:
    """The lengths that are compared unless others are asked for: of numbers in B bits each, or of codes."""
    if method in BITS_OF_A_NUMBER:
        return [width * bits for bits in BITS_OF_A_NUMBER[method]]
    lengths = dict.fromkeys((*LENGTHS, width))
    return [bits for bits in lengths if bits <= min(width, SHORT.get(method, MAX_BITS))]


def _codes(card: Card, protocol: str, method: str, bits: int, features: str | None, width: int) -> Iterator[Code]:
    """The codes of one method and length; HashbenchError where it cannot make them."""
    fields = METHODS.get(method).settings.model_fields
    shared: dict[str, Setting] = {"bits": bits}
    shared |= {key: "linear" for key in ("model", FORM) if key in fields}
    if not METHODS.get(method).needs_torch:  # the vectors as they are: by these distances neighbours are near
        shared["normalise"] = "none"
    if features is not None:
        shared["features"] = features
    for title, variant in VARIANTS.get(method, {method_file(method).title: {}}).items():
        if variant and bits < width:
            continue  # a variant is compared where a vector has a bit a number
        settings = {**shared, **variant}
        run = Run.resolve(card.name, protocol, method, settings)
        if run.settings.bytes_per_item is None:
            raise HashbenchError(f"{method} makes no codes of bits")
        require_supervision(run)
        require_pytorch(run)
        if run.method.require is not None:
            with retold(lambda fault: f"{method}: {fault}", HashbenchError):
                run.method.require(run.settings, width, card.protocol(protocol).n_train or card.n_items)
        yield Code(title, settings, run)


def measured(comparison: Comparison, store: Store) -> list[Line]:
    """The lines of all codes whose runs are stored, the fewest bytes first."""
    lines = list[Line]()
    for code in with_bar(comparison.codes, "measure", "code"):
        name = code.run.name
        row = store.find(name.dataset, name.protocol, str(name))
        if row is None or row.status != "ok":
            continue
        cost = search_cost(code.run, row, store, comparison.main_factor * comparison.rule.k)
        if code.is_binary:
            lines += _by_hamming(comparison, code, row, cost, store)
        by_metric = row.searches.get("asymmetric", {})
        values = {factor: by_metric[comparison.metric(factor)].mean for factor in (1, *comparison.factors)}
        recalls = {factor: mean or 0.0 for factor, mean in values.items()}
        ends = range_of(row, HEADINGS["asymmetric"] + comparison.metric(1), store) or (None, None)
        lines.append(Line(code, "float", row, recalls, cost, *ends))
    return sorted(lines, key=lambda line: (line.bytes_per_vector, -line.recalls[comparison.main_factor]))


def _by_hamming(comparison: Comparison, code: Code, row: Row, cost: SearchCost, store: Store) -> Iterator[Line]:
    """The line by Hamming distance, of the histogram; none where it is gone."""
    histogram = store.histogram(row)
    if histogram is None:
        return
    names = {factor: comparison.metric(factor) for factor in (1, *comparison.factors)}
    values = evaluate_with_extremes(histogram, Metrics.parse([*names.values()]))
    recalls = {factor: summarise(values[name].values).mean or 0.0 for factor, name in names.items()}
    alone = values[names[1]]
    assert alone.worst is not None and alone.best is not None
    yield Line(code, "bits", row, recalls, cost, summarise(alone.worst).mean, summarise(alone.best).mean)


def on_front(lines: Sequence[Line], factor: int) -> list[Line]:
    """The lines than which no other has at most the bytes and at least the recall, and one of them better."""
    front: list[Line] = []
    most = -1.0
    for line in sorted(lines, key=lambda line: (line.bytes_per_vector, -line.recalls[factor])):
        if line.recalls[factor] > most:
            most = line.recalls[factor]
            front.append(line)
    return front


def answer(comparison: Comparison, lines: Sequence[Line], target: float, program: Sequence[str], items: str) -> str:
    """One sentence: the smallest code that reaches the ``target`` with the main factor, and the command that makes it.

    ``items`` is the file that is encoded.
    """
    factor = comparison.main_factor
    goal = f"finds {target:g} of {comparison.nearest}"
    if factor == 1:
        goal += " without rescoring"
    else:
        goal += f" after {factor} x {comparison.rule.k} candidates are rescored"
    reaching = [line for line in on_front(lines, factor) if line.recalls[factor] >= target]
    if not reaching:
        best = max(lines, key=lambda line: (line.recalls[factor], -line.bytes_per_vector))
        result = f"{best.label} ({counted(best.bytes_per_vector, 'byte')}), finds {best.recalls[factor]:.3f}"
        return f"None of these codes {goal}: the best, {result}: more candidates, or more bits, find more."
    line = reaching[0]
    command = shlex.join([*program, "encode", line.row.run, items, "--out", "codes.npz"])
    size = f"{counted(line.bytes_per_vector, 'byte')} a vector"
    return f"The smallest of these codes that {goal} is {line.label}: {size}, {line.recalls[factor]:.3f}: {command}"


def sheet_of(comparison: Comparison, lines: Sequence[Line], notes: Sequence[str]) -> Sheet:
    """The table for people, which fits 120 columns, and in its records all that is known of each line."""
    headings = ["bits", "query", "bytes", "alone", "tie range", *(f"{factor}x" for factor in comparison.factors)]
    headings += ["no floats", "us", "ms"]
    columns = zip(headings, zip(*(_cells(comparison, line) for line in lines), strict=True), strict=True)
    shown = [(heading, cells) for heading, cells in columns if any(cell is not None for cell in cells)]
    rows = [[line.code.title, *(cells[place] for _, cells in shown)] for place, line in enumerate(lines)]
    points = [_point(comparison, line) for line in lines]
    return Sheet(
        comparison.title,
        [Grid(rows, ["code", *(heading for heading, _ in shown)])],
        notes=notes,
        records=lambda: records(points[0], (point.values() for point in points)),
    )


def _cells(comparison: Comparison, line: Line) -> Iterator[Cell]:
    yield line.code.bits
    yield line.query
    yield line.bytes_per_vector
    yield Number(line.recalls[1], SHARE)
    yield _range(line)
    yield from (Number(line.recalls[factor], SHARE) for factor in comparison.factors)
    yield None if line.without_floats is None else Number(line.without_floats, SHARE)
    for time in (line.cost.encode_us, line.cost.query_ms[line.query]):
        yield Number(time, ",.3g" if time < 100 else ",.0f")


def _range(line: Line) -> Cell:
    """The ends of the recall by codes alone over the orders of ties; 0 where no tie decides, blank if not known."""
    if line.worst is None or line.best is None:
        return None
    return 0 if line.worst == line.best else Range(line.worst, line.best, SHARE)


def _point(comparison: Comparison, line: Line) -> dict[str, Value]:
    name = comparison.metric(1)
    point: dict[str, Value] = {"code": line.code.title, "method": line.row.method, "bits": line.code.bits}
    point |= {"query": line.query, "bytes": line.bytes_per_vector}
    point |= {name: line.recalls[1], f"{name}_worst": line.worst, f"{name}_best": line.best}
    point |= {f"{name}_after_{factor}x": line.recalls[factor] for factor in comparison.factors}
    point[f"{name}_after_{comparison.main_factor}x_without_floats"] = line.without_floats
    seconds = line.row.seconds
    point |= {"fit_s": None if seconds is None else seconds.train, "encode_us": line.cost.encode_us}
    return point | {"query_ms": line.cost.query_ms[line.query], "cpu": line.cost.cpu, "run": line.row.run}
