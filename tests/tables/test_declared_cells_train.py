"""Every deep cell that a table of the papers declares trains, on a few fake items of the layout of its data set.

The settings are those of the cell but for the length of the training, the size of a batch and the pretrained weights.
The networks of ImageNet are a few channels wide, each with its own layers and input; a slow test has them as they are.
"""

import json
from collections.abc import Iterator
from dataclasses import replace
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hashbench.foundation.execution import Execution
from hashbench.learning.contract import CodeSettings, Hasher, TrainingData, TrainingFailed
from hashbench.learning.methods import METHODS
from hashbench.learning.models import MODELS, alexnet_caffe, caffenet, vggf
from hashbench.learning.models._matconvnet import Conv, Full, Layer, backbone_of
from hashbench.learning.training.settings import TrainingSettings
from hashbench.running.datasets.card import Card
from hashbench.running.datasets.protocol import Percentiles
from hashbench.running.runs.run import Run
from hashbench.scoring.relevance.distances import DistanceRelevance
from hashbench.showing.tables import spec
from hashbench.showing.tables.cell import Cell

TABLES = [
    *("talr_table1", "talr_table2", "talr_table3", "talr_appendix_d"),
    *(f"sparse_hash_table{number}" for number in range(1, 6)),
]
N_ITEMS = 24
N_CLASSES = 4
BATCH = 8
STEPS = 2
LAYERS = {"vggf": vggf.layers(), "alexnet_caffe": alexnet_caffe.LAYERS, "caffenet": caffenet.LAYERS}
NETWORKS = {"vggf": vggf, "alexnet_caffe": alexnet_caffe, "caffenet": caffenet}


def what(cell: Cell) -> tuple[str, str, str, str, str]:
    """The cell but for the size of its codes."""
    other = {key: value for key, value in cell.settings.items() if key not in ("bits", "k")}
    return cell.method, cell.dataset, cell.protocol, cell.budget, json.dumps(other, sort_keys=True)


def size(cell: Cell) -> int:
    found = cell.settings.get("bits", cell.settings.get("k", 0))
    assert isinstance(found, int)
    return found


def declared() -> Iterator[Cell]:
    """The cells of methods that train a network, of all tables: of each kind that with the smallest code."""
    deep = [
        cell
        for table in TABLES
        for cell in spec.load(table).cells
        if issubclass(METHODS.get(cell.method).settings, TrainingSettings)
    ]
    for _, alike in groupby(sorted(deep, key=lambda cell: (what(cell), size(cell))), what):
        yield next(alike)


def name(cell: Cell) -> str:
    settings = " ".join(f"{key}={value}" for key, value in sorted(cell.settings.items()))
    return f"{cell.method} {cell.dataset} {cell.protocol} {settings}"


CELLS = list(declared())
WIDE = list({(cell.method, cell.dataset, cell.settings["model"]): cell for cell in CELLS}.values())


@pytest.fixture
def narrow(monkeypatch: pytest.MonkeyPatch) -> None:
    """The networks of ImageNet with a sixteenth of the channels and 64 features."""
    for network, layers in LAYERS.items():
        few = tuple(thin(layer) for layer in layers)
        module = NETWORKS[network]
        assert module.MODEL.pretrained is not None
        model = replace(module.MODEL, backbone=backbone_of(network, few, module.MODEL.pretrained.input.size))
        monkeypatch.setattr(module, "MODEL", model)


def thin(layer: Layer) -> Layer:
    if isinstance(layer, Conv):
        return layer._replace(out=layer.out // 16)
    return layer._replace(out=64) if isinstance(layer, Full) else layer


@pytest.mark.parametrize("cell", CELLS, ids=name)
@pytest.mark.usefixtures("narrow")
def test_a_declared_cell_trains_for_a_few_steps(cell: Cell, tmp_path: Path) -> None:
    trained(Run.resolve(cell.dataset, cell.protocol, cell.method, cell.settings, budget=cell.budget), tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("cell", WIDE, ids=name)
def test_a_declared_cell_trains_at_its_full_width(cell: Cell, tmp_path: Path) -> None:
    trained(Run.resolve(cell.dataset, cell.protocol, cell.method, cell.settings, budget=cell.budget), tmp_path)


def test_the_cells_of_all_deep_methods_are_among_them() -> None:
    found = {(cell.method, cell.dataset) for cell in CELLS}
    assert {("dtsh", "nuswide21"), ("hashnet", "imagenet100_256"), ("talr_ndcg", "labelme")} < found
    assert {method for method, _ in found} == {
        *("dpsh", "dtsh", "mihash", "hashnet", "talr_ap", "talr_ndcg", "exhaustive_search", "sparse_hash")
    }


def trained(run: Run, folder: Path) -> Hasher | None:
    """The hasher of the run, which was trained for a few steps; None if its random weights gave equal codes."""
    base = None if run.base is None else trained(run.base, folder / "base")
    folder.mkdir(parents=True, exist_ok=True)
    assert isinstance(run.settings, TrainingSettings)
    data = replace(fake(run), folder=folder, base=base)
    try:
        hasher = run.method.fit(few_steps(run.settings), data)
    except TrainingFailed as failed:
        # without the pretrained weights, the features of two images hardly differ
        assert "are equal after the last epoch" in str(failed)
        hasher = None
    (epoch,) = [json.loads(line) for line in (folder / "metrics.jsonl").read_text().splitlines()]
    assert epoch["epoch"] == 0
    assert epoch["step"] == STEPS - 1
    assert np.isfinite(epoch["loss"])
    return hasher


def few_steps(settings: TrainingSettings) -> CodeSettings:
    """``settings`` for two steps of a few examples, from random weights."""
    classes = min(settings.classes_per_batch, N_CLASSES)
    rounds = 2 if classes else 0
    changed: dict[str, Any] = {
        "epochs": 1,
        "steps_per_epoch": STEPS,
        "batch_size": classes * rounds or BATCH,
        "classes_per_batch": classes,
        "weights": "none" if MODELS.get(settings.model).pretrained else settings.weights,
    }
    return type(settings).model_validate({**settings.model_dump(), **changed})


def fake(run: Run) -> TrainingData:
    """Random items of the shape of the data set's, with labels of its kind, or with relevance by their distances."""
    card = run.card
    rng = np.random.default_rng(0)
    if card.kind == "images":
        items = rng.integers(0, 256, (N_ITEMS, *card.item_shape), np.uint8)
    else:
        items = rng.standard_normal((N_ITEMS, *card.item_shape)).astype(np.float32)
    return TrainingData(
        items=items,
        labels=labels_of(card),
        value_max=card.value_max or 1.0,
        seed=run.derived_seed,
        folder=Path(),
        execution=Execution("cpu"),
        relevance=near(run, items),
    )


def labels_of(card: Card) -> np.ndarray:
    classes = np.arange(N_ITEMS) % N_CLASSES
    if card.labels == "class":
        return classes.astype(np.int64)
    labels = np.zeros((N_ITEMS, card.n_classes if card.labels == "multi" else 0), np.uint8)
    if card.labels == "multi":
        labels[np.arange(N_ITEMS), classes] = 1
        labels[::5, N_CLASSES - 1] = 1  # some have two labels
    return labels


def near(run: Run, items: np.ndarray) -> DistanceRelevance | None:
    rule = run.protocol.relevance
    if not isinstance(rule, Percentiles):
        return None
    distances = np.linalg.norm(items[:, None] - items[None], axis=2)[np.triu_indices(len(items), 1)]
    return DistanceRelevance(items, items, tuple(np.percentile(distances, rule.percent)), tuple(rule.levels))
