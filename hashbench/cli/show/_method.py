"""A method: its paper, what it learns from and needs, its settings with their sources, and its command."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from hashbench.cli.show import _layout
from hashbench.foundation import paths

if TYPE_CHECKING:
    from hashbench.methods import Method
    from hashbench.runs.hyperparameters import MethodFile

LEARNS_FROM = {
    "none": "the items alone",
    "labels": "class labels",
    "relevance": "relevance, which labels or distances define",
}


def describe(name: str) -> dict[str, Any]:
    """What --json prints of the method called ``name``."""
    from hashbench.methods import METHODS
    from hashbench.runs import hyperparameters

    method, file = METHODS.get(name), hyperparameters.load(name)
    return {
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
        "file": paths.shown(hyperparameters.location(name)),
        "budgets": file.budgets,
        "settings": _settings(method, file),
        "variants": [
            {"conditions": each.conditions(), "why": each.why, "values": each.values()} for each in file.variants
        ],
    }


def _settings(method: "Method", file: "MethodFile") -> dict[str, dict[str, Any]]:
    """All settings: first those that the file gives, then those that are required, then those with a default."""
    fields = method.settings.model_fields
    given = {key: each.model_dump(exclude_none=True) for key, each in file.parameters.items()}
    rest = {key: field for key, field in fields.items() if key not in given}
    required = {
        key: {"value": None, "source": "required", "note": ""} for key, field in rest.items() if field.is_required()
    }
    defaults = {
        key: {"value": field.default, "source": "default", "note": ""}
        for key, field in rest.items()
        if not field.is_required()
    }
    return {**required, **given, **defaults}


def lines(found: dict[str, Any]) -> Iterator[str]:
    """The same as text."""
    yield from _layout.title(found["name"], f"{found['group']} method", f"{found['title']}: {found['summary']}")
    needs = "the extra train (PyTorch)" if found["needs_torch"] else "the base installation"
    yield from _layout.facts(
        {
            "paper": _layout.paper(found["paper"]),
            "learns from": LEARNS_FROM[found["supervision"]],
            "needs": needs + (", one or several processes (torchrun)" if found["several_processes"] else ""),
            "starts from": f"a run of {found['base']}, which is made first" if found["base"] else None,
            "of package": found["package"],
            "file": found["file"],
        }
    )
    yield from _layout.block("budgets, the first is the default", found["budgets"].items())
    width = max(len(_layout.setting(each["value"])) for each in found["settings"].values())
    settings = ((key, _setting(each, width)) for key, each in found["settings"].items())
    yield from _layout.block("settings: value, source, note", settings)
    yield from _layout.block("other values", (_variant(each) for each in found["variants"]))
    size = "--set d=D --set k=K" if found["group"] == "sparse" else "--bits BITS"
    yield from _layout.commands([f"hashbench train {found['name']} DATASET --protocol PROTOCOL {size}"])


def _setting(each: dict[str, Any], width: int) -> str:
    if each["source"] == "required":
        return "none: you give it, or a recipe (experiments/recipes/) does"
    note = f": {each['note']}" if each["note"] else ""
    return f"{_layout.setting(each['value']):{width}}  {each['source']}{note}"


def _variant(each: dict[str, Any]) -> tuple[str, str]:
    where = " ".join(f"{key} {value}" for key, value in each["conditions"].items())
    return where, f"{_layout.settings(each['values'])} ({each['why']})"
