"""What ``hashbench show`` prints of an entry: one function for each kind, called as the kind is."""

from typing import TYPE_CHECKING, Any

from hashbench.cli import _sheet
from hashbench.cli._run_sheet import run
from hashbench.cli._sheet import Sheet
from hashbench.cli._terminal import print_error
from hashbench.foundation import paths

if TYPE_CHECKING:
    from hashbench.methods import Method
    from hashbench.runs.settings import MethodFile
    from hashbench.tables.spec import TableSpec

__all__ = ["dataset", "features", "figure", "method", "metric", "model", "run", "table"]

LEARNS_FROM = {
    "none": "the items alone",
    "labels": "class labels",
    "relevance": "relevance, which labels or distances define",
}
CUTOFFS = {"rank": "@100", "radius": "@r2 (Hamming radius 2)", "n_relevant": "@r (rank N+)"}
SIZES = ("n_queries", "n_database", "n_train", "n_validation")


def method(name: str) -> Sheet:
    """Its paper, what it learns from and needs, its settings with their sources, and its command."""
    from hashbench.methods import METHODS
    from hashbench.runs.settings import method_file, method_path, tuned

    method, file = METHODS.get(name), method_file(name)
    others: list[tuple[dict[str, str], Any]] = [(each.when.names, each) for each in file.variants]
    others += [({"recipe": recipe}, each) for recipe, each in tuned(name).items()]
    values: dict[str, Any] = {
        "name": name,
        "title": file.title,
        "summary": file.summary,
        "paper": file.paper,
        "group": method.group,
        "supervision": method.supervision,
        "needs_torch": method.needs_torch,
        "several_processes": method.several_processes,
        "base": method.base.method if method.base and METHODS.get(method.base.method) is not method else None,
        "package": METHODS.provider(name),
        "file": paths.shown(method_path(name)),
        "budgets": file.budgets,
        "settings": _settings_of(method, file),
        "variants": [
            {"conditions": names, "why": v.why, "values": {key: own.value for key, own in v.parameters.items()}}
            for names, v in others
        ],
    }
    needs = "the extra train (PyTorch)" if method.needs_torch else "the base installation"
    facts = {
        "paper": _sheet.paper(file.paper),
        "learns from": LEARNS_FROM[method.supervision],
        "needs": needs + (", one or several processes (torchrun)" if method.several_processes else ""),
        "starts from": f"a run of {values['base']}, which is made first" if values["base"] else None,
        "of package": values["package"],
        "file": values["file"],
    }
    settings = values["settings"]
    width = max(len(_sheet.setting(each["value"])) for each in settings.values())
    variants = [
        (
            " ".join(f"{key} {value}" for key, value in v["conditions"].items()),
            f"{_sheet.settings(v['values'])} ({v['why']})",
        )
        for v in values["variants"]
    ]
    blocks = [
        ("budgets, the first is the default", file.budgets.items()),
        ("settings: value, source, note", [(key, _setting(each, width)) for key, each in settings.items()]),
        ("other values", variants),
    ]
    size = "--set d=D --set k=K" if method.group == "sparse" else "--bits BITS"
    commands = [f"hashbench train {name} DATASET --protocol PROTOCOL {size}"]
    return Sheet(f"{name} ({method.group} method): {file.title}: {file.summary}", values, facts, blocks, commands)


def _settings_of(method: "Method", file: "MethodFile") -> dict[str, dict[str, Any]]:
    """All settings: first those that are required, then those that the file gives, then those with a default."""
    given = {key: each.model_dump(exclude_none=True) for key, each in file.parameters.items()}
    required, defaults = {}, {}
    for key, field in method.settings.model_fields.items():
        if key not in given and field.is_required():
            required[key] = {"value": None, "source": "required", "note": ""}
        elif key not in given:
            defaults[key] = {"value": field.default, "source": "default", "note": ""}
    return {**required, **given, **defaults}


def _setting(each: dict[str, Any], width: int) -> str:
    if each["source"] == "required":
        return "none: you give it, or a recipe (experiments/recipes/) does"
    note = f": {each['note']}" if each["note"] else ""
    return f"{_sheet.setting(each['value']):{width}}  {each['source']}{note}"


def dataset(name: str) -> Sheet:
    """Its items, labels, licence and papers, whether it is here, its protocols, and its commands."""
    from hashbench.datasets.card import load_card
    from hashbench.datasets.status import dataset_status

    card = load_card(name)
    status = dataset_status(card)
    rules = {key: {**rule.model_dump(exclude_none=True), "draw": rule.draw} for key, rule in card.protocols.items()}
    fields = {"name", "title", "citation", "licence", "homepage", "kind", "item_shape"}
    values: dict[str, Any] = {
        **card.model_dump(include=fields | {"n_items", "n_classes", "labels", "content_sha256"}),
        "state": status.state,
        "status": status.line(),
        "steps": status.steps,
        "protocols": rules,
    }
    unit, numbers = ("images of", "") if card.kind == "images" else ("rows of", " numbers")
    labels = {"none": "none", "class": f"one of {card.n_classes} classes", "multi": f"several of {card.n_classes}"}
    facts = {
        "items": f"{card.n_items:,} {unit} {' x '.join(map(str, card.item_shape))}{numbers}",
        "labels": labels[card.labels],
        "here": status.line() if status.state in ("stored", "embedded", "damaged") else status.state,
        "licence": card.licence,
        "paper": "; ".join(_sheet.paper(key) for key in (card.citation or "").split(", ") if key),
        "homepage": card.homepage,
    }
    blocks = [
        ("protocols", [(key, _protocol(rule)) for key, rule in rules.items()]),
        ("to get it", [(f"{n}.", step) for n, step in enumerate(status.steps, 1)]),
    ]
    protocol = next(iter(rules), "PROTOCOL")
    commands = [
        *(step for step in status.steps[:1] if step.startswith("hashbench ")),
        f"hashbench split {name} --protocol {protocol} --check",
        f"hashbench train METHOD {name} --protocol {protocol} --bits BITS",
    ]
    return Sheet(f"{name} (data set): {card.title}", values, facts, blocks, commands)


def _protocol(rule: dict[str, Any]) -> str:
    from hashbench.tables.papers import cited, papers

    sizes = [f"{rule[size]:,} {size.removeprefix('n_')}" for size in SIZES if size in rule]
    counted = f" ({', '.join(sizes)})" if sizes else ""
    return f"{rule['title']}{counted}; {cited(rule['citation'], papers(str)) if rule.get('citation') else 'your own'}"


def table(name: str) -> Sheet:
    """Its paper, rows and columns, what of it is measured, and its commands."""
    from hashbench.runs.store import Store
    from hashbench.tables import spec
    from hashbench.tables.status import PastSeconds, table_status

    table = spec.load(name)
    stored = {row.run: row for row in Store.default().outcomes(print_error)}
    runs = table_status(table, stored, PastSeconds.of(stored.values())).as_json(1)
    named = {f"{key}s": sorted({getattr(cell, key) for cell in table.cells}) for key in ("method", "dataset", "metric")}
    n_published = sum(cell.published is not None for cell in table.cells)
    values: dict[str, Any] = {
        "name": table.name,
        "title": table.title,
        "paper": table.paper,
        "source": table.source,
        "notes": table.notes,
        "sections": _sections(table),
        "n_cells": len(table.cells),
        "n_published": n_published,
        **named,
        **{key: value for key, value in runs.items() if key not in ("table", "seeds", "splits")},
    }
    n_runs = runs["done"] + runs["failed"] + runs["missing"]
    not_yet = f"; {runs['unavailable']} cells cannot be run yet" if runs["unavailable"] else ""
    facts = {
        "paper": f"{_sheet.paper(table.paper)}, {table.source}",
        "cells": f"{len(table.cells)}, {n_published} of them with a published value",
        "runs": f"{runs['done']} of {n_runs} done, {runs['failed']} failed{not_yet}",
        "metrics": ", ".join(named["metrics"]),
        "data sets": ", ".join(named["datasets"]),
        "methods": ", ".join(named["methods"]),
    }
    sizes = [
        (
            f"{len(rows)} x {len(columns)}",
            f"{section}{': ' if section else ''}{', '.join(rows)} by {', '.join(columns)}",
        )
        for section, rows, columns in (each.values() for each in values["sections"])
    ]
    blocks = [("rows x columns", sizes), ("notes", [("-", note) for note in table.notes])]
    commands = [f"hashbench {verb} {name}" for verb in ("run", "status", "table")]
    return Sheet(f"{name} (table): {table.title}", values, facts, blocks, commands)


def _sections(table: "TableSpec") -> list[dict[str, Any]]:
    sections: dict[str, tuple[dict[str, None], dict[str, None]]] = {}
    for cell in table.cells:
        rows, columns = sections.setdefault(cell.section, ({}, {}))
        rows[cell.row], columns[cell.column] = None, None
    return [{"section": name, "rows": [*rows], "columns": [*columns]} for name, (rows, columns) in sections.items()]


def figure(name: str) -> Sheet:
    """Its paper, what it shows, what of it is measured, and its commands."""
    from hashbench import figures
    from hashbench.runs.store import Store

    figure, store = figures.load(name), Store.default()
    drawing, file = figure.fill(list(store.rows(print_error)), store), figure.file
    n_cells, of_table = len(figure.cells), getattr(file, "table", None)
    values: dict[str, Any] = {
        "name": figure.name,
        **file.model_dump(include={"kind", "title", "paper", "source", "notes", "width"}),
        "summary": figure.kind.summary,
        "table": of_table,
        "n_cells": n_cells,
        "n_points": len(drawing.points),
        "n_measured": drawing.n_measured,
        "missing": drawing.missing,
    }
    drawn = f"{drawing.n_measured} points are measured"
    facts = {
        "paper": f"{_sheet.paper(file.paper)}, {file.source}",
        "kind": f"{file.kind}: {figure.kind.summary}",
        "cells": f"{n_cells}" + (f", of table {of_table}" if of_table else ""),
        "drawn": drawing.missing or (drawn if drawing.n_measured else "from its file alone: it needs no run"),
    }
    verbs = ("run", "status", "figure") if n_cells else ("figure",)
    commands = [f"hashbench {verb} {name}" for verb in verbs]
    return Sheet(f"{name} (figure): {file.title}", values, facts, [("notes", [("-", n) for n in file.notes])], commands)


def metric(name: str) -> Sheet:
    """Its paper, its cutoffs and parameters, and how it is written."""
    from hashbench.metrics import METRICS

    metric = METRICS.get(name)
    values: dict[str, Any] = {
        "name": name,
        "summary": metric.summary,
        "paper": metric.paper,
        "of": metric.source.__name__.lower(),
        "cutoffs": list(metric.cutoffs),
        "cutoff_required": metric.cutoff_required,
        "parameters": {key: list(values) for key, values in metric.parameters.items()},
        "maximum": metric.maximum,
    }
    written = [*([] if metric.cutoff_required else [name]), *(name + CUTOFFS[kind] for kind in metric.cutoffs)]
    facts = {
        "paper": _sheet.paper(metric.paper),
        "computed from": {"histogram": "binary codes", "retrieval": "a search in buckets"}[values["of"]],
        "written": " or ".join(written),
        "largest value": metric.maximum if metric.maximum != 1 else None,
    }
    parameters = [(key, ", ".join(choices)) for key, choices in metric.parameters.items()]
    return Sheet(
        f"{name} (metric): {metric.summary}",
        values,
        facts,
        [("parameters, the first value is the default", parameters)],
    )


def model(name: str) -> Sheet:
    """The network, its official weights if it has some, and its commands."""
    from hashbench.models import MODELS

    model = MODELS.get(name)
    weights = model.pretrained.weights if model.pretrained else None
    file = paths.weights() / weights.file if weights else None
    is_here = file.is_file() if file else None
    values: dict[str, Any] = {
        "name": name,
        "summary": model.summary,
        "weights": weights.url if weights else None,
        "weights_file": str(file) if file else None,
        "weights_here": is_here,
    }
    facts = {
        "weights": weights.url if weights else "random: it is trained from scratch",
        "file": f"{file}{'' if is_here else ' (not here)'}" if file else None,
    }
    commands = [f"hashbench train METHOD DATASET --protocol PROTOCOL --bits BITS --model {name}"]
    commands += [f"hashbench features DATASET --model {name}"] if weights else []
    return Sheet(f"{name} (model): {model.summary}", values, facts, commands=commands)


def features(name: str) -> Sheet:
    """The features, and the commands that extract and use them."""
    from hashbench.features import FEATURES

    summary = FEATURES.get(name).summary
    commands = [
        f"hashbench features DATASET --model {name}",
        f"hashbench train METHOD DATASET --protocol PROTOCOL --bits BITS --set features={name}",
    ]
    return Sheet(f"{name} (features): {summary}", {"name": name, "summary": summary}, commands=commands)
