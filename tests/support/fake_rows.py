"""Rows of runs that never happened, for tests of what is made of rows."""

import os
from pathlib import Path
from typing import Any

from hashbench.foundation.config import digest, parse
from hashbench.foundation.provenance import Code
from hashbench.running.runs.row import Row
from hashbench.running.runs.run import Run
from hashbench.scoring.codes.distinct import DistinctCodes
from hashbench.scoring.metrics import MetricValue
from hashbench.showing.tables import spec
from hashbench.showing.tables.cell import Cell, TableFile
from hashbench.showing.tables.collect import collect
from hashbench.showing.tables.spec import TableSpec
from hashbench.showing.tables.table import Table


def fake_hash(cell: Cell, split_seed: int | None = None) -> str:
    """The digest that the rows of a cell share, whether or not its names exist."""
    return digest(fake_config(cell, split_seed))


def fake_config(cell: Cell, split_seed: int | None = None) -> dict[str, Any]:
    """What would decide the result, as far as a cell says it."""
    names = {"dataset": cell.dataset, "protocol": cell.protocol, "method": cell.method}
    data = {} if split_seed is None else {"split": {"seed": split_seed}}
    return {**names, "budget": cell.budget, "settings": dict(cell.settings), "data": data}


def fake_row(
    cell: Cell,
    seed: int = 0,
    status: str = "ok",
    cell_hash: str | None = None,
    split_seed: int | None = None,
    distinct_codes: tuple[int, int] | None = None,
    **means: float | None,
) -> Row:
    """The row of ``cell`` for ``seed``; a metric is named by its Python spelling, or by ``metric`` for the cell's."""
    values = {
        cell.metric if name == "metric" else name: MetricValue(mean=mean, std=None, n_queries=10, n_empty=0)
        for name, mean in means.items()
    }
    config = fake_config(cell, split_seed)
    config_hash = digest({**config, "seed": seed})
    return Row(
        schema=2,
        run=f"{cell.dataset}-{cell.protocol}-{cell.method}-s{seed}-{config_hash[:10]}",
        dataset=cell.dataset,
        protocol=cell.protocol,
        method=cell.method,
        settings=cell.settings,
        budget=cell.budget,
        seed=seed,
        config=config,
        config_hash=config_hash,
        split_seed=split_seed,
        cell_hash=cell_hash or fake_hash(cell, split_seed),
        searches={"database": values} if values else {},
        distinct_codes=distinct_codes and DistinctCodes(queries=distinct_codes[0], database=distinct_codes[1]),
        data_sha256="0" * 64,
        ids_sha256="0" * 64 if split_seed is None else digest({"split": split_seed}),
        code=Code(version="0", commit=None, dirty=None),
        versions={},
        hardware={},
        utc="2000-01-01T00:00:00Z",
        seconds=None,
        status=status,  # type: ignore[arg-type]
        reason="it diverged" if status == "failed" else None,
    )


def row_of_run(named: Run, status: str = "ok", **means: float) -> Row:
    """The row of a run under the names, the settings and the digests that it would have."""
    row = fake_row(sample_spec().cells[0], named.name.seed, status, named.name.cell_hash, **means)
    name = named.name
    same = {
        key: getattr(name, key) for key in ("dataset", "protocol", "method", "budget", "seed", "config", "config_hash")
    }
    pinned = {"data_sha256": name.data["content_sha256"], "ids_sha256": name.data["split"].get("ids_sha256")}
    sums = {key: value for key, value in pinned.items() if value is not None}
    return row.model_copy(update={**same, **sums, "run": str(name), "settings": name.identity})


def with_config(row: Row, **changes: Any) -> Row:
    """The row with other values in its configuration, and the digests and the name that follow from them."""
    config = {**row.config, **changes}
    config_hash = digest({**config, "seed": row.seed})
    hashes = {"cell_hash": digest(config), "config_hash": config_hash, "run": row.run[:-10] + config_hash[:10]}
    return row.model_copy(update={"config": config, **hashes})


def row_of_cell(cell: Cell, seed: int = 0, status: str = "ok", **means: float) -> Row:
    """The row of a run that fills ``cell``, under the names that it would have."""
    named = Run.resolve(cell.dataset, cell.protocol, cell.method, cell.settings, seed=seed)
    return row_of_run(named, status, **means)


# Everything a table can hold: percent and fractions, ties for the best, a zero, blanks on either side, special signs.
SAMPLE: dict[str, Any] = {
    "title": "A sample: 50% of AP_T & <NDCG>",
    "paper": "he2018tieaware",
    "source": "Table 0",
    "notes": ["*: with parameters of its authors -- see #3, {a_b} ~ $x^2$ | y\\z."],
    "defaults": {"dataset": "digits", "protocol": "s1", "metric": "ap", "tie_aware": True, "tolerance": 0.02},
    "groups": [
        {
            "section": "CIFAR-10 S1 (mAP)",
            "columns": [
                {"label": "12 bits", "settings": {"bits": 12}},
                {"label": "24 bits", "settings": {"bits": 24}},
                {"label": "48 bits", "settings": {"bits": 48}},
            ],
            "rows": [
                {"label": "DPSH*", "method": "dpsh", "values": [0.720, 0.757, "-"]},
                {"label": "MIHash", "method": "mihash", "values": [0.687, 0.775, 0.822]},
                {"label": "TALR_AP", "method": "talr_ap", "values": [0.732, 0.789, 0.800]},
                {"label": "Not run", "method": "agh", "values": [0.5, 0.5, "-"]},
            ],
        },
        {
            "section": "Pr@1 | percent",
            "printed_as": "percent",
            "metric": "precision@1",
            "tie_aware": False,
            "citation": "jeong2018efficient",
            "columns": [{"label": "k=1", "settings": {"d": 64, "k": 1}}],
            "rows": [
                {"label": "[Npairs-Th]", "method": "th", "values": [60.85]},
                {"label": "Npairs-VQ", "method": "vq", "values": ["-"]},
            ],
        },
    ],
}
# method, bits or k -> the means over queries, a seed each
SAMPLE_MEANS: dict[tuple[str, int], list[float]] = {
    ("dpsh", 12): [0.71, 0.72, 0.74],
    ("dpsh", 24): [0.7571],
    ("dpsh", 48): [0.0],
    ("mihash", 12): [0.73, 0.72, 0.72],
    ("mihash", 24): [0.70, 0.71],
    ("talr_ap", 24): [0.7569],
    ("mihash", 48): [0.70, 0.71],
    ("talr_ap", 48): [0.79, 0.79],
    ("th", 1): [0.6123, 0.6145],
    ("vq", 1): [0.59, 0.60],
}
# what the rows of a cell have beside their scores: of one cell the third seed was run elsewhere, of one all codes agree
SAMPLE_MADE: dict[tuple[str, int], Any] = {
    ("dpsh", 12): lambda seed: {"hardware": {"cpu": "AMD $x" if seed == 2 else "Intel(R) | Xeon_1"}},
    ("talr_ap", 48): lambda _: {"artefacts": {"histogram": "0" * 64}},
}


def sample_spec(**changes: Any) -> TableSpec:
    """The sample table's declaration; ``changes`` go over its keys."""
    return spec.from_file("sample", parse(TableFile, {**SAMPLE, **changes}, "sample.toml"), Path("sample.toml"))


def sample_rows() -> list[Row]:
    """The rows behind the sample table: two cells with a tie interval, one with distinct codes; see SAMPLE_MADE."""
    cells = {(cell.method, int(cell.settings.get("bits", cell.settings.get("k", 0)))): cell for cell in SAMPLE_CELLS}
    return [
        fake_row(
            cells[key],
            seed,
            metric=mean,
            distinct_codes=(seed + 1, 1200 + seed) if key == ("dpsh", 12) else None,
            **({"ap_worst": mean - 0.1, "ap_best": mean + 0.1} if key == ("dpsh", 12) else {}),
            **({"ap_worst": mean - 0.05, "ap_best": mean + 0.05} if key == ("mihash", 12) else {}),
        ).model_copy(update={"hardware": {"cpu": "AMD $x"}} | SAMPLE_MADE.get(key, lambda _: {})(seed))
        for key, means in SAMPLE_MEANS.items()
        for seed, mean in enumerate(means)
    ]


SAMPLE_CELLS = sample_spec().cells


def sample_table(**changes: Any) -> Table:
    """The sample table, filled in."""
    return collect(sample_spec(**changes), sample_rows(), None, hash_of=fake_hash)


GOLDEN = Path(__file__).parent.parent / "golden"
UPDATE = bool(os.environ.get("HASHBENCH_UPDATE_GOLDEN"))  # asked here, before a test clears the environment


def assert_golden(name: str, text: str) -> None:
    """Asserts that ``text`` is byte for byte tests/golden/``name``; HASHBENCH_UPDATE_GOLDEN=1 writes it instead."""
    path = GOLDEN / name
    if UPDATE:
        path.write_bytes(text.encode())
    assert path.read_bytes() == text.encode(), f"{path.name} differs: HASHBENCH_UPDATE_GOLDEN=1 accepts the new text"
