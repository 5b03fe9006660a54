"""Methods fitted to sixty images in a moment; objectives with the settings that they need."""

from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from hashbench.contract import TrainingData
from hashbench.foundation.parallel import DEFAULT_COMPUTE, ComputeOptions
from hashbench.losses import (
    dfh,
    dpsh,
    dtsh,
    hashnet,
    mihash,
    tie_aware_ap,
    tie_aware_ndcg,
)
from hashbench.methods import METHODS
from hashbench.runs.run import Run

BITS, EXAMPLES = 6, 40
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


def fit(
    method: str,
    changes: dict[str, Any],
    folder: Path,
    device: str = "cpu",
    compute: ComputeOptions = DEFAULT_COMPUTE,
) -> dict[str, Tensor]:
    """The weights after three epochs; the last batch of an epoch is one of two."""
    folder.mkdir(exist_ok=True)
    given = {"bits": BITS, "epochs": 3, "batch_size": 29, **changes}
    chosen = Run.resolve("digits", "s1", method, given)
    rng = np.random.default_rng(0)
    items = rng.integers(0, 17, (60, 8, 8, 1), np.uint8)
    data = TrainingData(
        items,
        np.arange(60) % 3,
        16.0,
        seed=1,
        folder=folder,
        device=device,
        checkpoint_every_s=0,
        compute=compute,
    )
    hasher: Any = METHODS.get(method).fit(chosen.settings, data)
    return dict(hasher.state_dict())
