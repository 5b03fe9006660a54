"""``hashbench split``: write the id lists of a protocol."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from hashbench.datasets.audit import Audit
    from hashbench.datasets.split import Split


def command(
    name: Annotated[str, typer.Argument(help="A data set, as hashbench list datasets shows.")],
    protocol: Annotated[str, typer.Option(help="One of the data set's protocols.")],
    seed: Annotated[int | None, typer.Option(min=0, help="Another draw than the protocol's own.")] = None,
    check: Annotated[bool, typer.Option("--check", help="Prove sizes, class counts and disjointness.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Write the query, database and training ids of a protocol, with their checksum."""
    from hashbench import paths
    from hashbench.datasets.audit import audit
    from hashbench.datasets.card import load_card
    from hashbench.datasets.split import split, write
    from hashbench.datasets.store import open_dataset
    from hashbench.files import require_writable
    from hashbench.registry import canonical

    card = load_card(name)
    rule = card.protocol(protocol)
    seed = rule.seed if seed is None else seed
    data = open_dataset(card.name)
    chosen = split(data.labels, rule, card.name, protocol, seed)
    found = audit(data, chosen, rule, seed) if check else None
    path = paths.data() / card.name / "splits" / f"{canonical(protocol)}-seed{seed}.npz"
    require_writable(path.parent, instead="--data")
    write(path, chosen)
    named: dict[str, str | int] = {
        "dataset": card.name,
        "protocol": canonical(protocol),
        "seed": seed,
        "path": str(path),
    }
    typer.echo(_as_json(named, chosen, found) if as_json else _as_text(path, chosen, found))


def _as_json(named: dict[str, str | int], chosen: "Split", found: "Audit | None") -> str:
    sizes = {role: len(ids) for role, ids in chosen.lists().items()}
    report: dict[str, object] = {**named, "sizes": sizes, "sha256": chosen.sha256}
    if found is not None:
        report["check"] = {"n_duplicates": found.n_duplicates, "checksums": found.checksums}
    return json.dumps(report)


def _as_text(path: Path, chosen: "Split", found: "Audit | None") -> str:
    lines = [str(path)]
    for role, ids in chosen.lists().items():
        checksum = f"  sha256 {found.checksums[role]}" if found is not None else ""
        lines.append(f"{role:8} {len(ids):>7,}{checksum}")
    lines.append(f"{'ids':8} {sum(map(len, chosen.lists().values())):>7,}  sha256 {chosen.sha256}")
    if found is not None:
        lines.append(
            "sizes and class counts as the protocol says; queries and database are disjoint by id; "
            f"{found.n_duplicates} queries have an identical item in the database"
        )
    return "\n".join(lines)
