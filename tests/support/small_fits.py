"""Methods fitted to sixty images in a moment; objectives with the settings that they need."""

from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from support.on_digits import on_digits
from torch import Tensor

from hashbench.foundation.execution import Execution
from hashbench.learning.contract import TrainingData
from hashbench.learning.losses import dfh, dpsh, dtsh, hashnet, mihash, tie_aware_ap, tie_aware_ndcg
from hashbench.learning.methods import METHODS

BITS = 6
EXAMPLES = 40
LABELS = torch.arange(EXAMPLES) % 4
LISTWISE = {
    "ap_simplified": tie_aware_ap.simplified,
    "ap_exact": tie_aware_ap.exact,
    "ndcg": tie_aware_ndcg.exact,
    "mihash": mihash.loss,
    "dpsh": partial(dpsh.loss, eta=0.1),
    "dtsh": partial(dtsh.loss, margin=2.0, eta=0.1),
    "hashnet": partial(hashnet.loss, scale=0.5, clip=15.0, weight_similar=0.0, streams=False),
}
MEMORIES = {
    "dpsh_memory": partial(dpsh.MemoryObjective, eta=0.1),
    "dtsh_memory": partial(dtsh.MemoryObjective, margin=2.0, eta=0.1, batch_size=13),
    "dfh_memory": partial(dfh.MemoryLikelihood, margin=0.5),
}

# what is recorded of a step of three parts: an objective that waits for the GPU, draws or solves in between is not
ALL = 3
NOT_THE_OBJECTIVE = 2
DROPOUT = {"model": "nin", "width": 0.1, "hash_norm": "batch"}  # a network that draws random numbers on its device
RECORDED: list[tuple[str, dict[str, Any], int]] = [
    ("talr_ap", {"model": "small_cnn", "augment": "crop_flip", "clip_norm": 1.0}, ALL),
    ("talr_ap", {**DROPOUT, "tanh_schedule": "power", "tanh_rate": 0.5}, ALL),
    ("talr_ap", {"hash_norm": "batch", "optimiser": "adam", "momentum": 0.0}, ALL),
    ("talr_ap", {"feature_dropout": 0.5, "momentum_form": "lr_inside", "lr_decay": 0.5, "lr_decay_every": 1}, ALL),
    ("talr_ap", {"transport": 0.1}, NOT_THE_OBJECTIVE),
    ("talr_ndcg", {}, NOT_THE_OBJECTIVE),
    ("dpsh", {"pairing": "memory"}, ALL),
    ("dtsh", {"pairing": "memory", "lr": 0.005}, NOT_THE_OBJECTIVE),
    ("jmlh", {"objective_lr": 0.1}, NOT_THE_OBJECTIVE),
    ("ce", {}, NOT_THE_OBJECTIVE),  # one_hot waits on a CPU, where it looks at its numbers
    ("dfh", {}, ALL),
    ("adsh", {}, NOT_THE_OBJECTIVE),
    ("cibhash", {"augment": "crop_flip"}, ALL),
    ("tbh", {"hidden": 20, "bottleneck": 10}, NOT_THE_OBJECTIVE),
]


def fit(
    method: str,
    changes: dict[str, Any],
    folder: Path,
    device: str = "cpu",
    precision: str = "auto",
) -> dict[str, Tensor]:
    """The weights after three epochs; the last batch of an epoch is one of two."""
    folder.mkdir(exist_ok=True)
    given = {"bits": BITS, "epochs": 3, "batch_size": 29, **changes}
    chosen = on_digits(method, given)
    rng = np.random.default_rng(0)
    items = rng.integers(0, 17, (60, 8, 8, 1), np.uint8)
    data = TrainingData(
        items,
        np.arange(60) % 3,
        16.0,
        seed=1,
        folder=folder,
        execution=Execution(device, precision=precision, checkpoint_every_s=0),
    )
    hasher: Any = METHODS.get(method).fit(chosen.settings, data)
    return dict(hasher.state_dict())
