"""Codes of vectors without labels, compared: which code, of how many bytes, finds the neighbours."""

import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from hashbench.foundation import paths, provenance
from hashbench.foundation.errors import CheckFailed, HashbenchError, counted
from hashbench.foundation.files import all_or_none, write_bytes, write_text
from hashbench.foundation.parallel import available_cores
from hashbench.foundation.progress import note
from hashbench.foundation.registry import canonical
from hashbench.running.datasets.card import Card, cards, load_card
from hashbench.running.datasets.custom.add import remove
from hashbench.running.datasets.custom.of_file import card_of_file, file_to_encode, with_k
from hashbench.running.datasets.neighbours import stored_neighbours
from hashbench.running.runs.data import open_data
from hashbench.running.runs.run_all import Plan
from hashbench.running.runs.store import Store
from hashbench.showing import ink
from hashbench.showing.bench.declared import table_text
from hashbench.showing.figures import drawing_of_vectors, picture
from hashbench.showing.sheet import Sheet
from hashbench.showing.tables import vectors
from hashbench.showing.tables.vectors import Comparison, codes_of

FOLDER = "bench"  # of the results
ITEMS = "ITEMS.npy"  # in place of a file that is not known
MOST_NUMBERS = 1 << 28  # of vectors that several processes hold: 1 GiB


@dataclass(frozen=True)
class Choice:
    """The methods (None: the default ones), lengths of codes, k, factors of k, target and protocol that are chosen."""

    methods: Sequence[str] | None
    lengths: Sequence[int] | None
    k: int | None
    factors: Sequence[int]
    target: float
    protocol: str | None


def is_file(data: str) -> bool:
    """Whether it is the path of a file, and not the name of a data set."""
    return canonical(data) not in cards() and (Path(data).is_file() or bool(Path(data).suffix))


@contextmanager
def card_and_items(data: str) -> Iterator[tuple[Card, str]]:
    """The card of the data set, or of the file, and the file of items that a command to encode has.

    A data set that is added for this block is gone again if something is refused in it.
    """
    if not is_file(data):
        card = load_card(data)
        place = file_to_encode(card)
        yield card, ITEMS if place is None else paths.shown(place)
        return
    card, notes = card_of_file(Path(data))
    try:
        yield card, ITEMS if file_to_encode(card) is None else data
    except HashbenchError:
        if notes is not None:
            remove(card.name)
        raise
    if notes is not None:
        size = f"{counted(card.n_items, 'vector')} of {counted(math.prod(card.item_shape), 'number')}"
        note(f"added {data} as {card.name}: {size}")
    for line in notes or ():
        note(f"note: {line}")


def comparison_of(card: Card, chosen: Choice) -> tuple[Comparison, list[str]]:
    """The comparison that is asked for, and a line for each method that is left out; refuses what cannot be."""
    protocol = card.protocol_name(chosen.protocol)
    codes, left_out = codes_of(card, protocol, chosen.methods, chosen.lengths)
    if chosen.k is not None and (other := with_k(card, protocol, chosen.k)) != protocol:
        card = load_card(card.name)
        protocol = other
        codes, left_out = codes_of(card, protocol, chosen.methods, chosen.lengths)
    return Comparison(card, protocol, codes, chosen.factors), left_out


def declared(comparison: Comparison) -> str:
    """The file that declares the table of recalls: a row for each code, a column for each query and factor."""
    groups = []
    for code in comparison.codes:
        queries = {"float": "asymmetric"}
        if code.is_binary:
            queries = {"bits": "database", **queries}
        columns = []
        for query, search in queries.items():
            for factor in (1, *comparison.factors):
                label = f"{query}, alone" if factor == 1 else f"{query}, {factor}x"
                columns.append({"label": label, "metric": comparison.metric(factor), "evaluation": search})
        row = {"label": code.label, "method": code.run.name.method, "settings": code.settings}
        groups.append({"columns": columns, "rows": [row]})
    defaults = {"dataset": comparison.card.name, "protocol": comparison.protocol, "tie_aware": True}
    return table_text(comparison.title, _notes(comparison), defaults, groups)


def plan_of(comparison: Comparison, jobs: int | None) -> Plan:
    """The runs at the same time: where none are said, as many as there are cores if the vectors are few."""
    if jobs is None:  # each has all vectors in memory
        is_small = comparison.card.n_items * math.prod(comparison.card.item_shape) <= MOST_NUMBERS
        jobs = available_cores() if is_small else 1
    return Plan(jobs)


def write(
    comparison: Comparison, table: str, target: float, items: str, program: Sequence[str], remarks: Sequence[str]
) -> tuple[Sheet, list[str]]:
    """Writes the measured lines and the answer with a picture to results/bench/; the sheet, and lines that follow it.

    ``remarks`` are notes below the lines, of the neighbours and of runs that failed. CheckFailed where all failed.
    """
    store = Store.default()
    measured = vectors.measured(comparison, store)
    if not measured:
        raise CheckFailed(f"{table}: all runs failed: {remarks[-1]}")
    sheet = vectors.sheet_of(comparison, measured, [*_notes(comparison), *remarks])
    answer = vectors.answer(comparison, measured, target, program, items)
    stem = store.folder / FOLDER / table
    with all_or_none():
        write_text(stem.with_suffix(".md"), f"{ink.write(sheet, 'markdown')}\n{answer}\n")
        write_text(stem.with_suffix(".csv"), ink.write(sheet, "csv"))
        write_bytes(stem.with_suffix(".png"), picture(drawing_of_vectors(comparison, measured)))
    written = [paths.shown(stem.with_suffix(suffix)) for suffix in (".md", ".csv", ".png")]
    return sheet, ["", *written, "", answer]


def warnings_of(comparison: Comparison) -> list[str]:
    """What is odd about the neighbours, which are computed once, on all cores."""
    data = open_data(comparison.codes[0].run)
    neighbours = stored_neighbours(data.compared, data.ids, comparison.rule, progress=True)
    return neighbours.warnings(comparison.rule.k)


def _notes(comparison: Comparison) -> Iterator[str]:
    rule = comparison.card.protocol(comparison.protocol)
    k = comparison.rule.k
    queries = "the queries"
    if rule.n_queries is not None:
        queries = "1 query" if rule.n_queries == 1 else f"{rule.n_queries:,} queries"
    base = "the others"
    if rule.n_database is not None:
        base = counted(rule.n_database, "vector")
    nearest = comparison.nearest
    ranked = f"{nearest} of {queries} by {comparison.rule.metric} among {base}"
    yield f"The recall of {ranked}: the mean over all orders of ties."
    factor = comparison.main_factor
    m = factor * k
    alone = f"alone: the first {counted(k, 'item')} by codes."
    if factor != 1:
        alone += f" {factor}x: the first {m}, ordered again by the floats, and so on."
    yield alone
    whole = [f"{times}x" for times in comparison.factors if times * k >= comparison.n_base]
    if whole:
        yield f"{', '.join(whole)}: these candidates are the whole base, so the recall is 1 whatever the code."
    if any(code.is_binary for code in comparison.codes):
        yield f"no floats: the first {m} by Hamming distance, ordered again by the query's numbers times the bits."
        yield "query: bits, by Hamming distance; float, the query's own numbers against the stored bits (asymmetric)."
    yield "tie range: alone, in the worst and in the best order of items at the same distance; 0: no tie decides."
    yield "bytes: all that is stored of a vector, factors too. The .csv has the seconds to fit, and more."
    cpu = provenance.hardware("cpu")["cpu"]
    rescoring = "without" if factor == 1 else f"with {factor}x"
    yield f"us to encode a vector, ms of an exhaustive search {rescoring} rescoring: here, on one thread of {cpu}."
