"""Bits of exported hash functions that differ from those of `hashbench encode`, for each form and ten kinds of method.

Run `python benchmarks/export.py [FORM ...]` with the extras train and onnx. Ten runs on the digits are trained where
they are not stored; 10,000 noisy copies of the digits are encoded by the run and by its export in each form. Where a
bit differs, the activations nearest to 0 are printed: those are where rounding decides. Writes
results/benchmarks/export-MACHINE.json.
"""

import sys
import tempfile
from pathlib import Path
from typing import Any

import _record
import numpy as np
import torch
from numpy.typing import NDArray

import hashbench
from hashbench.foundation.config import Setting
from hashbench.learning.contract import BinaryHasher
from hashbench.running.datasets.card import load_card
from hashbench.running.datasets.store import open_dataset
from hashbench.running.runs.guard import load_hasher
from hashbench.running.runs.store import Store
from hashbench.showing.export import torch_form
from hashbench.showing.export.description import Form
from hashbench.showing.export.write import export

ITEMS = 10_000
SHORT: dict[str, Setting] = {"epochs": 3}
RUNS: list[tuple[str, str, dict[str, Setting]]] = [
    ("linear", "itq", {}),
    ("linear, scaled", "lsh", {"normalise": "channel_unit_norm"}),
    ("kernel", "ksh", {"hash_functions": "kernel", "n_anchors": 60}),
    ("anchors", "agh", {}),
    ("trees", "fasthash", {}),
    ("boosting", "structhash", {"hash_functions": "trees"}),
    ("linear head", "hashnet", {"model": "linear", **SHORT}),
    ("MLP", "hashnet", {"model": "mlp", **SHORT}),
    ("kernel head", "hashnet", {"model": "kernel", **SHORT}),
    ("network", "hashnet", {"model": "small_cnn", **SHORT}),
]
FORMS: tuple[Form, ...] = ("numpy", "onnx", "torch")


def noisy_digits() -> NDArray[np.uint8]:
    """Copies of random digits, each pixel moved by up to two steps."""
    random = np.random.default_rng(0)
    stored = open_dataset(load_card("digits")).items
    chosen = stored[random.integers(0, len(stored), ITEMS)].astype(np.int64)
    return (chosen + random.integers(-2, 3, chosen.shape)).clip(0, 16).astype(np.uint8)


def bits_of(folder: Path, form: Form, items: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """The bits by the export in ``folder``."""
    if form != "torch":
        return hashbench.load(folder).encode(items)
    program = torch.export.load(folder / torch_form.FILE).module()
    return np.concatenate([program(torch.from_numpy(part))[0].numpy() for part in np.array_split(items, 10)])


def compared(hasher: BinaryHasher, bits: NDArray[np.uint8], items: NDArray[np.uint8]) -> dict[str, Any]:
    """How many bits differ; the size of the activations where they do, and of the nearest ones to 0 in any case."""
    activations = hasher.encode(items)
    differs = bits != (activations > 0)
    sizes = np.abs(activations)
    figures: dict[str, Any] = {"bits": int(differs.size), "differ": int(differs.sum())}
    figures |= {"nearest_to_0": np.sort(sizes, axis=None)[:3].tolist(), "median_size": float(np.median(sizes))}
    if differs.any():
        figures["activations_that_differ"] = np.sort(activations[differs])[:20].tolist()
    return figures


def main() -> None:
    """Compares all forms, or those that are named."""
    forms = [form for form in FORMS if form in sys.argv[1:]] or FORMS
    items, store = noisy_digits(), Store.default()
    figures: dict[str, Any] = {}
    for kind, method, settings in RUNS:
        row = hashbench.train(method, "digits", bits=16, **settings).row  # type: ignore[arg-type]
        hasher = load_hasher(row, store, "cpu")
        assert isinstance(hasher, BinaryHasher)
        for form in forms:
            if form == "numpy" and hasher.as_steps() is None:
                continue  # a network of other layers
            with tempfile.TemporaryDirectory() as scratch:
                folder = Path(scratch) / form
                export(row, hasher, form, folder)
                found = compared(hasher, bits_of(folder, form, items), items)
            figures[f"{kind}, {form}"] = {"run": row.run, **found}
            print(f"{kind:16} {form:6} {found['differ']:6,} of {found['bits']:,} bits differ", flush=True)
            if found["differ"]:
                print(f"  activations there: {found['activations_that_differ'][:5]}; median {found['median_size']:.3g}")
    _record.write("export", {"items": ITEMS, "forms": figures})


if __name__ == "__main__":
    main()
