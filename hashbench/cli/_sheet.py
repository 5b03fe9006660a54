"""All about one entry, as ``hashbench show`` prints it: a function for each kind, called as the kind is."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from typing import Any

from hashbench.cli._needs import hours_text, table_facts
from hashbench.cli._terminal import leave_out, rows_read
from hashbench.foundation import paths
from hashbench.foundation.config import all_as_typed, as_typed
from hashbench.foundation.errors import counted
from hashbench.learning.methods import METHODS
from hashbench.learning.models import MODELS
from hashbench.running.datasets.card import load_card
from hashbench.running.datasets.status import dataset_status
from hashbench.running.features import FEATURES
from hashbench.running.runs.declared import other_values_of, settings_of
from hashbench.running.runs.past import Past
from hashbench.running.runs.settings import method_file, method_path
from hashbench.scoring.metrics import METRICS
from hashbench.showing import figures
from hashbench.showing.sheet import Cell, Code, Grid, Sheet, facts
from hashbench.showing.tables import spec
from hashbench.showing.tables.needs import table_needs
from hashbench.showing.tables.papers import cited, papers
from hashbench.showing.tables.status import table_status

RELEVANCE = "relevance, which labels or distances define"
LEARNS_FROM = {"none": "the items alone", "labels": "class labels", "relevance": RELEVANCE}
CUTOFFS = {"rank": "@100", "radius": "@r2 (Hamming radius 2)", "n_relevant": "@r (rank N+)"}


def sheet_of(
    title: str,
    values: Mapping[str, Any],
    known: Mapping[str, Cell],
    grids: Sequence[Grid] = (),
    commands: Sequence[str] = (),
) -> Sheet:
    """The sheet of an entry: the ``values`` that --json prints, what is known, more grids, commands to copy."""
    return Sheet(title, [facts(known), *grids], commands=commands, values=lambda: values)


def _paper(key: str) -> str:
    entries = papers(broken=str)  # str: hashbench list papers says which entries are broken
    if key not in entries:
        return key
    return f"{cited(key, entries)}: {entries[key].title} [{key}]"


def method(name: str) -> Sheet:
    method = METHODS.get(name)
    file = method_file(name)
    path = paths.shown(method_path(name))
    package = METHODS.provider(name)
    settings = settings_of(name)
    rows: list[tuple[Cell, ...]] = []
    for key, setting in settings.items():
        if setting["source"] == "required":
            rows.append((key, "none", "you give it, or a recipe (experiments/recipes/) does"))
        else:
            source = ": ".join(filter(None, [setting["source"], setting["note"]]))
            rows.append((key, as_typed(setting["value"]), source))
    others: list[tuple[Cell, ...]] = []
    for other in other_values_of(name):
        when = " ".join(f"{key} {value}" for key, value in other.conditions.items())
        others.append((when, f"{all_as_typed(other.values)} ({other.why})"))
    base = None
    starts_from = None
    if method.base is not None and method.base.method != name:
        base = method.base.method
        starts_from = f"a run of {base}, which is made first"
    needs = "the base installation"
    if method.needs_torch:
        needs = "the extra train (PyTorch)"
    values: dict[str, Any] = {
        **{key: getattr(method, key) for key in ("group", "supervision", "needs_torch")},
        **file.model_dump(include={"title", "summary", "paper", "budgets"}),
        **{"name": name, "base": base, "package": package, "file": path, "settings": settings},
        "variants": [asdict(other) for other in other_values_of(name)],
    }
    known = {
        "paper": _paper(file.paper),
        "learns from": LEARNS_FROM[method.supervision],
        "needs": needs,
        "starts from": starts_from,
        "of package": package,
        "file": path,
    }
    grids = [
        facts(file.budgets, "budgets, the first is the default"),
        Grid(rows, ["name", "value", "source: note"], "settings"),
        Grid(others, ["where", "values (why)"], "other values"),
    ]
    size = "--set d=D --set k=K" if method.group == "sparse" else "--bits BITS"
    commands = [f"hashbench train {name} DATASET --protocol PROTOCOL {size}"]
    return sheet_of(f"{name} ({method.group} method): {file.title}: {file.summary}", values, known, grids, commands)


def dataset(name: str) -> Sheet:
    card = load_card(name)
    status = dataset_status(card)
    rules = {key: {**rule.model_dump(exclude_none=True), "draw": rule.draw} for key, rule in card.protocols.items()}
    fields = {"name", "title", "citation", "licence", "homepage", "kind", "item_shape"}
    values: dict[str, Any] = card.model_dump(include=fields | {"n_items", "n_classes", "labels", "content_sha256"})
    values |= {"state": status.state, "status": status.line(), "steps": status.steps, "protocols": rules}
    shape = " x ".join(map(str, card.item_shape))
    items = f"{card.n_items:,} rows of {shape} numbers"
    if card.kind == "images":
        items = f"{card.n_items:,} images of {shape}"
    here: str = status.state
    if here in ("stored", "embedded", "damaged"):
        here = status.line()
    labels = {"none": "none", "class": f"one of {card.n_classes} classes", "multi": f"several of {card.n_classes}"}
    known = {
        "items": items,
        "labels": labels[card.labels],
        "here": here,
        "licence": card.licence,
        "paper": "; ".join(_paper(key) for key in (card.citation or "").split(", ") if key),
        "homepage": card.homepage,
    }
    steps: dict[str, Cell] = {}
    for number, step in enumerate(status.steps, 1):
        steps[f"{number}."] = (Code(step),) if step.startswith("hashbench ") else step
    grids = [facts({key: _protocol(rule) for key, rule in rules.items()}, "protocols"), facts(steps, "to get it")]
    protocol = next(iter(rules), "PROTOCOL")
    commands = [step for step in status.steps[:1] if step.startswith("hashbench ")]
    commands += [f"hashbench split {name} --protocol {protocol} --check"]
    commands += [f"hashbench train METHOD {name} --protocol {protocol} --bits BITS"]
    return sheet_of(f"{name} (data set): {card.title}", values, known, grids, commands)


def _protocol(rule: dict[str, Any]) -> str:
    names = ("queries", "database", "train", "validation")
    sizes = ", ".join(f"{rule[f'n_{name}']:,} {name}" for name in names if f"n_{name}" in rule)
    title: str = rule["title"]
    if sizes:
        title += f" ({sizes})"
    source = "your own"
    if rule.get("citation"):
        source = cited(rule["citation"], papers(str))
    return f"{title}; {source}"


def table(name: str) -> Sheet:
    table = spec.load(name)
    rows = list(rows_read().rows(leave_out))
    stored = {row.run: row for row in rows}
    runs = table_status(table, stored, Past.of(rows)).as_json(1)
    needs = table_needs(table, rows)
    n_cells = len(table.cells)
    n_published = sum(cell.published is not None for cell in table.cells)
    values: dict[str, Any] = {key: getattr(table, key) for key in ("name", "title", "paper", "source", "notes")}
    values |= {"n_published": n_published, **runs, "needs": needs.as_json()}
    n_runs = runs["done"] + runs["failed"] + runs["missing"]
    progress = f"{n_runs}: {runs['done']} done, {runs['failed']} failed, {runs['missing']} missing"
    if (n_bases := len(needs.runs) - n_runs) > 0:
        progress += f"; {counted(n_bases, 'other')} that they start from"
    cells = f"{n_cells}: {runs['n_cells_measured']} measured, {n_published} have a published value"
    if runs["unavailable"]:
        cells += f", {runs['unavailable']} not available yet"
    paper = f"{cited(table.paper, papers(broken=str))}, {table.source}"
    if table.notes:
        paper += f"; {counted(len(table.notes), 'note')} (--json)"
    known: dict[str, Cell] = {
        "paper": paper,
        "cells": cells,
        "runs": f"{progress}; {hours_text(needs)}",
        **table_facts(needs),
    }
    commands = [f"hashbench run {name}"]
    if needs.speed_command is not None:
        commands = [needs.speed_command, *commands]
    return sheet_of(f"{name} (table): {table.title}", values, known, commands=commands)


def figure(name: str) -> Sheet:
    figure = figures.load(name)
    file = figure.file
    store = rows_read()
    drawing = figure.fill(list(store.rows(leave_out)), store)
    n_cells = len(figure.cells)
    table_name = getattr(file, "table", None)
    values: dict[str, Any] = {
        **file.model_dump(include={"kind", "title", "paper", "source", "notes", "width"}),
        **{"name": figure.name, "summary": figure.kind.summary, "table": table_name, "n_cells": n_cells},
        **{"n_points": len(drawing.points), "n_measured": drawing.n_measured, "missing": drawing.missing},
    }
    cells = str(n_cells)
    if table_name:
        cells += f", of table {table_name}"
    drawn = "from its file alone: it needs no run"
    if drawing.n_measured:
        drawn = f"{drawing.n_measured} points are measured"
    known = {
        "paper": f"{_paper(file.paper)}, {file.source}",
        "kind": f"{file.kind}: {figure.kind.summary}",
        "cells": cells,
        "drawn": drawing.missing or drawn,
    }
    verbs = ("run", "status", "figure") if n_cells else ("figure",)
    commands = [f"hashbench {verb} {name}" for verb in verbs]
    sheet = sheet_of(f"{name} (figure): {file.title}", values, known, commands=commands)
    return replace(sheet, notes=file.notes)


def metric(name: str) -> Sheet:
    metric = METRICS.get(name)
    source = metric.source.__name__.lower()
    values: dict[str, Any] = {
        **{key: getattr(metric, key) for key in ("summary", "paper", "cutoff_required", "maximum")},
        **{"name": name, "of": source, "cutoffs": list(metric.cutoffs)},
        "parameters": {key: list(choices) for key, choices in metric.parameters.items()},
    }
    written = [name + CUTOFFS[kind] for kind in metric.cutoffs]
    if not metric.cutoff_required:
        written = [name, *written]
    known: dict[str, Cell] = {
        "paper": _paper(metric.paper),
        "computed from": {"histogram": "binary codes", "retrieval": "a search in buckets"}[source],
        "written": " or ".join(written),
        "largest value": None if metric.maximum == 1 else f"{metric.maximum}",
    }
    parameters = {key: ", ".join(choices) for key, choices in metric.parameters.items()}
    grids = [facts(parameters, "parameters, the first value is the default")]
    return sheet_of(f"{name} (metric): {metric.summary}", values, known, grids)


def model(name: str) -> Sheet:
    model = MODELS.get(name)
    values: dict[str, Any] = {"name": name, "summary": model.summary}
    known: dict[str, Cell] = {"weights": "random: it is trained from scratch"}
    commands = [f"hashbench train METHOD DATASET --protocol PROTOCOL --bits BITS --model {name}"]
    values |= {"weights": None, "weights_file": None, "weights_here": None}
    if model.pretrained is not None:
        weights = model.pretrained.weights
        is_here = weights.path.is_file()
        values |= {"weights": weights.url, "weights_file": str(weights.path), "weights_here": is_here}
        file = f"{weights.path} (not here)"
        if is_here:
            file = str(weights.path)
        known = {"weights": weights.url, "md5": weights.md5, "sha256": weights.sha256, "file": file}
        if model.takes is not None:
            known["takes"] = f"the features {model.takes}"
        commands += [f"hashbench features DATASET --model {model.takes or name}"]
    return sheet_of(f"{name} (model): {model.summary}", values, known, commands=commands)


def features(name: str) -> Sheet:
    summary = FEATURES.get(name).summary
    commands = [f"hashbench features DATASET --model {name}"]
    commands += [f"hashbench train METHOD DATASET --protocol PROTOCOL --bits BITS --set features={name}"]
    return sheet_of(f"{name} (features): {summary}", {"name": name, "summary": summary}, {}, commands=commands)
