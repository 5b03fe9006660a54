"""A data set: its items, labels, licence and papers, whether it is here, its protocols, and its commands."""

from collections.abc import Iterator
from typing import Any

from hashbench.cli.show import _layout

HERE = ("stored", "embedded", "damaged")
SIZES = ("n_queries", "n_database", "n_train", "n_validation")


def describe(name: str) -> dict[str, Any]:
    """What --json prints of the data set called ``name``."""
    from hashbench.datasets.card import load_card
    from hashbench.datasets.inventory import dataset_status

    card, status = load_card(name), dataset_status(name)
    rules = {key: {**rule.model_dump(exclude_none=True), "draw": rule.draw} for key, rule in card.protocols.items()}
    described = card.model_dump(include={"name", "title", "citation", "licence", "homepage", "kind", "item_shape"})
    described |= card.model_dump(include={"n_items", "n_classes", "labels", "content_sha256"})
    return {**described, "state": status.state, "status": status.line(), "steps": status.steps, "protocols": rules}


def lines(found: dict[str, Any]) -> Iterator[str]:
    """The same as text."""
    yield from _layout.title(found["name"], "data set", found["title"])
    shape = " x ".join(map(str, found["item_shape"]))
    items = f"{found['n_items']:,} {'images of' if found['kind'] == 'images' else 'rows of'} {shape}"
    papers = [_layout.paper(key) for key in (found["citation"] or "").split(", ") if key]
    yield from _layout.facts(
        {
            "items": items + (" numbers" if found["kind"] == "features" else ""),
            "labels": _labels(found),
            "here": found["status"] if found["state"] in HERE else found["state"],
            "licence": found["licence"],
            "paper": "; ".join(papers),
            "homepage": found["homepage"],
        }
    )
    yield from _layout.block("protocols", ((name, _protocol(rule)) for name, rule in found["protocols"].items()))
    protocol = next(iter(found["protocols"]), "PROTOCOL")
    yield from _layout.block("to get it", ((f"{n}.", step) for n, step in enumerate(found["steps"], 1)))
    yield from _layout.commands(
        [
            *(step for step in found["steps"][:1] if step.startswith("hashbench ")),
            f"hashbench split {found['name']} --protocol {protocol} --check",
            f"hashbench train METHOD {found['name']} --protocol {protocol} --bits BITS",
        ]
    )


def _labels(found: dict[str, Any]) -> str:
    return {
        "none": "none",
        "class": f"one of {found['n_classes']} classes",
        "multi": f"several of {found['n_classes']}",
    }[found["labels"]]


def _protocol(rule: dict[str, Any]) -> str:
    sizes = [f"{rule[size]:,} {size.removeprefix('n_')}" for size in SIZES if size in rule]
    counted = f" ({', '.join(sizes)})" if sizes else ""
    return f"{rule['title']}{counted}; {_layout.cite(rule['citation']) if rule.get('citation') else 'your own'}"
