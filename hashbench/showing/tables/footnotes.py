"""The footnotes that say how the measured values of a table were made: processors, networks, splits, budgets, code."""

import re
from collections import Counter, defaultdict
from collections.abc import Iterator

from hashbench.foundation.paths import read_once
from hashbench.learning.contract import PIXELS
from hashbench.learning.methods import METHODS
from hashbench.running.datasets.card import load_card
from hashbench.running.datasets.protocol import TO_CHOOSE
from hashbench.running.runs import settings as settings_files
from hashbench.running.runs.row import IMPORTED, Row, processor_of
from hashbench.running.tuning.choice import choices
from hashbench.running.tuning.search import Search
from hashbench.showing.tables.cell import Cell
from hashbench.showing.tables.cell_runs import tuning_of
from hashbench.showing.tables.papers import OWN
from hashbench.showing.tables.table import Table

PUBLISHED = "our defaults (constants are the authors' where they give any; rates and lengths of training are ours)"
BY_HAND = "our defaults or chosen by hand, without equal tuning budgets"


def footnotes(table: Table) -> tuple[str, ...]:
    """Processors, networks and features by method, data, splits, budgets, and uncommitted code of what is measured."""
    rows = list({row.run: row for measured in table.measured for row in measured.rows}.values())
    if not rows:
        return ()
    return made_how(table), _networks(rows), _splits(rows), *_uncommitted(rows)


def made_how(table: Table) -> str:
    """The processors of the runs, in a table of our own the tracks of its settings, and what is old, in one line."""
    sentences = [processors(table)]
    if table.paper == OWN:
        sentences += [tracks(table), *unsound_searches(table)]
    return " ".join(filter(None, (*sentences, *old_validation(table))))


def tracks(table: Table) -> str:
    """Whose the settings are, of each section that is measured: of the authors, of a search, or chosen by hand.

    Codes made elsewhere, and the cells of a section without a title, are named by their rows.
    """
    titles_by_track: dict[str, dict[str, None]] = {}
    for section in table.sections:
        for cell in (cell.declared for cell in section.cells.values() if cell.measured is not None):
            title = section.title or cell.row
            if cell.budget == IMPORTED:
                title = cell.row
            titles_by_track.setdefault(_track(cell), {})[title] = None
    if len(titles_by_track) == 1:
        return f"Settings: {next(iter(titles_by_track))}."
    return " ".join(f"Settings {track}: {'; '.join(titles)}." for track, titles in titles_by_track.items())


def _track(cell: Cell) -> str:
    if cell.budget == IMPORTED:
        return "unknown, of codes made elsewhere"
    if cell.method not in METHODS:
        return "unknown, of methods that are not installed here"
    if cell.recipe == settings_files.OUR_DEFAULTS:
        return PUBLISHED
    search = search_of(cell)
    if search is None:
        return BY_HAND
    by_metric = ""
    if search[3] not in (None, "AP"):
        by_metric = f" by {search[3]}"
    return f"tuned{by_metric} ({search[2]} trials of each method, search {search[1]})"


def search_of(cell: Cell) -> re.Match[str] | None:
    """The search that tuned the settings of the cell, the number of its trials, and the metric, where it is said.

    None where there was none.
    """
    if cell.budget == IMPORTED or cell.method not in METHODS or cell.recipe == settings_files.OUR_DEFAULTS:
        return None
    return _search_of(cell.run_key)


@read_once  # a table is rendered in several formats, and has several metrics of one run
def _search_of(run_key: str) -> re.Match[str] | None:
    trial = r"tune/(\S+)\.jsonl: trial \d+(?: \(our defaults\))? of (\d+)(?:, held-out (\S+))?"
    return re.search(trial, tuning_of(run_key))


def unsound_searches(table: Table) -> Iterator[str]:
    """A sentence on the searches of measured cells that were of the old kind, and one on methods to be searched again.

    A search of the old kind chose by queries that other splits of a table may test.
    """
    methods: dict[str, set[str]] = {}  # of each search that is here
    for cell in (cell.declared for cell in table.cells() if cell.measured is not None):
        if (named := search_of(cell)) is not None:
            methods.setdefault(named[1], set()).add(cell.method)
    searches = [search for name in methods if (search := Search.load(name)) is not None]
    if old := [search.name for search in searches if not search.question.is_two_stage]:
        noun = "search" if len(old) == 1 else "searches"
        queries = f"Validation queries of the {noun} {', '.join(old)}"
        yield f"{queries} may be test queries of other splits than the first."
    faulty = []
    for search in searches:
        if not search.question.is_two_stage:
            continue
        for choice in choices(search):
            if choice.method in methods[search.name] and choice.search_again:
                title = settings_files.method_file(choice.method).title
                faulty.append(f"{title} ({'; '.join(choice.search_again)})")
    if faulty:
        yield f"To be searched again: {', '.join(faulty)}."


def old_validation(table: Table) -> Iterator[str]:
    """A sentence for each protocol of measured cells by whose queries settings were chosen, some of which others test.

    The numbers are those of the first splits of the protocols that tables show, from the card.
    """
    of_cells = {(cell.declared.dataset, cell.declared.protocol) for cell in table.cells() if cell.measured is not None}
    for dataset, name in sorted(of_cells):
        rule = load_card(dataset).protocols.get(name)
        if isinstance(rule, TO_CHOOSE) and rule.shared_queries:
            queries = f"of the {rule.n_queries} of {dataset} {name}"
            yield f"Old validation queries: {queries} the first splits of these protocols test {rule.shared_in_words}."


def processors(table: Table) -> str:
    """The processors of the runs, and how many cells mix runs of several if any; empty where nothing is measured."""
    rows = (row for measured in table.measured for row in measured.rows if not row.is_imported)
    runs = {row.run: processor_of(row) for row in rows}
    named = [f"{name} ({n:,} of the runs)" for name, n in Counter(runs.values()).most_common()]
    if not runs:
        return ""
    if len(named) == 1:
        return f"Processor: {runs.popitem()[1]}."
    text = f"Processors: {', '.join(named)}"
    if n_mixed := sum(measured.is_mixed for measured in table.measured):
        text += f"; {n_mixed} of {table.n_measured} cells mix rows of several"
    return f"{text}."


def _networks(rows: list[Row]) -> str:
    """The networks and features; of several, the methods that have each."""
    methods: dict[str, set[str]] = defaultdict(set)
    for row in rows:
        methods[network_of(row)].add(row.method)
    if len(methods) == 1:
        return f"Network or features: {next(iter(methods))}."
    named = [f"{network} ({', '.join(sorted(names))})" for network, names in sorted(methods.items())]
    return f"Networks and features: {'; '.join(named)}."


def network_of(row: Row) -> str:
    """The network and the features that it is given, or the features of a method without a network."""
    if row.is_imported:
        return "codes made elsewhere"
    settings = row.config["settings"]
    model = settings.get("model")
    features = settings.get("features")
    if model is None:
        return str(features or PIXELS)
    if features in (None, PIXELS):
        return str(model)
    return f"{model} on {features}"


def _splits(rows: list[Row]) -> str:
    """The data sets with their protocols, the seeds of other splits than the protocols' own, and the budgets."""
    data = dict.fromkeys(f"{row.dataset} {row.protocol}" for row in rows)
    seeds = sorted({row.split_seed for row in rows if row.split_seed is not None})
    others = ""
    if seeds:
        others = f", and those of the seeds {', '.join(map(str, seeds))}"
    budgets = ", ".join(sorted({row.budget for row in rows}))
    return f"Data: {', '.join(data)}, the split of the protocol{others}. Schedule: {budgets}."


def _uncommitted(rows: list[Row]) -> Iterator[str]:
    """How many runs no commit describes; nothing where each has one."""
    if dirty := [row for row in rows if row.code.dirty]:
        commits = ", ".join(sorted({(row.code.commit or "unknown")[:10] for row in dirty}))
        yield f"{len(dirty)} of {len(rows)} runs are of code with changes that are not committed, after {commits}."
    if unknown := sum(row.code.commit is None for row in rows):
        yield f"The commit of the code is not known of {unknown} of {len(rows)} runs."
