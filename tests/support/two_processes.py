"""What each of two processes computes, and what one computes alone; run by path in each of the two."""

import os
import socket
import subprocess
import sys
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from hashbench.contract import TrainingData
from hashbench.foundation import parallel
from hashbench.foundation.errors import HashbenchError
from hashbench.foundation.parallel import DEFAULT_COMPUTE, ComputeOptions, ProcessGroup
from hashbench.losses import (
    LabelSupervision,
    dfh,
    dpsh,
    dtsh,
    hashnet,
    label_levels,
    mihash,
    tie_aware_ap,
    tie_aware_ndcg,
)
from hashbench.losses._objective import OutputMemory
from hashbench.methods import METHODS
from hashbench.runs.run import Run
from hashbench.training import distributed, log
from hashbench.training.loop import Trainer

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
ROUNDS = {"classes_per_batch": 3, "batch_size": 9, "steps_per_epoch": 4}
TRAINED: list[tuple[str, dict[str, Any]]] = [
    ("talr_ap", {"augment": "crop_flip", "clip_norm": 1.0}),
    ("talr_ndcg", {}),
    ("dpsh", {"pairing": "memory"}),
    ("dtsh", {"pairing": "memory", "lr": 0.005}),
    ("jmlh", {"objective_lr": 0.1}),
    ("csq", {"centres": "bernoulli"}),
    ("dfh", {}),
    ("dsdh", {}),
    ("hswd", {}),
    ("greedyhash_u", {}),
    ("bihalf_u", {}),
    ("cibhash", {"augment": "crop_flip"}),
    ("ssdh", {}),
    ("tbh", {"hidden": 20, "bottleneck": 10}),
    ("mihash", {**ROUNDS, "augment": "crop_flip", "augment_per": "round", "normalise": "pixel_mean"}),
]


def step(name: str, dtype: torch.dtype, n: int, group: ProcessGroup) -> dict[str, Tensor]:
    """The loss of a list of ``n`` and the gradients of a small network, by name."""
    torch.manual_seed(1)
    network = nn.Sequential(nn.Linear(7, 11), nn.ReLU(), nn.Linear(11, BITS)).to(dtype)
    inputs = torch.randn(n, 7, generator=torch.Generator().manual_seed(2)).to(dtype)
    rows = torch.randperm(EXAMPLES, generator=torch.Generator().manual_seed(3))[:n]

    def loss_of(relaxed: Tensor) -> Tensor:
        if name in LISTWISE:
            return LISTWISE[name](relaxed, label_levels(LABELS[rows]))
        memory: OutputMemory = MEMORIES[name](LabelSupervision(LABELS), BITS).to(dtype)
        memory.outputs.normal_(generator=torch.Generator().manual_seed(4))
        return memory.forward(relaxed, rows, torch.Generator().manual_seed(5))

    own = torch.tanh(network(inputs[group.share(n)]))
    loss = loss_of(distributed.gather_with_gradient(own, n, group))
    loss.backward()  # type: ignore[no-untyped-call]
    distributed.sum_gradients(network.parameters(), group)
    gradients = {key: values.grad for key, values in network.named_parameters() if values.grad is not None}
    return {"loss": loss.detach(), **gradients}


def steps(group: ProcessGroup) -> dict[str, Tensor]:
    """Those of all objectives, in both arithmetics, for lists that halve and that do not."""
    return {
        f"{name} {dtype} n={n} {key}": value
        for name in (*LISTWISE, *MEMORIES)
        for dtype in (torch.float32, torch.float64)
        for n in (12, 13, 1)
        for key, value in step(name, dtype, n, group).items()
    }


def fit(
    method: str,
    changes: dict[str, Any],
    folder: Path,
    group: ProcessGroup,
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
        group=group,
        compute=compute,
    )
    hasher: Any = METHODS.get(method).fit(chosen.settings, data)
    return dict(hasher.state_dict())


class KilledError(Exception):
    """Both processes die."""


def resumed(method: str, changes: dict[str, Any], folder: Path, group: ProcessGroup) -> dict[str, Tensor]:
    """As ``fit``, killed after the second epoch and started again; only the first process has the checkpoint."""
    save = Trainer.save_checkpoint_if_due

    def save_and_die(run: Trainer) -> None:
        save(run)
        if run.epochs_done == 2:
            raise KilledError

    Trainer.save_checkpoint_if_due = save_and_die  # type: ignore[method-assign]
    try:
        fit(method, changes, folder, group)
    except KilledError:
        assert any(folder.glob("checkpoint*")) == group.is_first
    finally:
        Trainer.save_checkpoint_if_due = save  # type: ignore[method-assign]
    return fit(method, changes, folder, group)


def complaint(group: ProcessGroup, folder: Path) -> str:
    """What is said of a model that normalises by batch."""
    try:
        fit("talr_ap", {"model": "small_cnn"}, folder, group)
    except HashbenchError as error:
        return str(error)
    return ""


def everything(folder: Path, group: ProcessGroup) -> dict[str, Any]:
    """All of it; runs are kept in ``folder`` by the first process alone."""
    own = folder / f"of-{group.size}-rank-{group.rank}"
    own.mkdir()
    return {
        "steps": steps(group),
        "fits": {method: fit(method, changes, own / method, group) for method, changes in TRAINED},
        "resumed": {method: resumed(method, changes, own / f"{method}-killed", group) for method, changes in TRAINED},
        "batch_norm": complaint(group, own / "batch_norm"),
    }


def in_two(folder: Path) -> list[dict[str, Any]]:
    """``everything``, as each of two processes has it."""
    for process in start([__file__, str(folder)]):
        _, errors = process.communicate(timeout=200)
        assert process.returncode == 0, errors
    return [torch.load(folder / f"{rank}.pt", weights_only=True) for rank in range(2)]


def start(arguments: list[str], **variables: str) -> "list[subprocess.Popen[str]]":
    """Python with these arguments, in two processes, as torchrun starts them."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    shared = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port), "WORLD_SIZE": "2", "OMP_NUM_THREADS": "1"}
    return [
        subprocess.Popen(
            [sys.executable, *arguments],
            env={**os.environ, **shared, **variables, "RANK": str(rank), "LOCAL_RANK": str(rank)},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for rank in range(2)
    ]


if __name__ == "__main__":
    log.draw = lambda folder: None  # as tests/conftest.py has it
    here = parallel.from_environment()
    with distributed.connected(here, "cpu"):
        torch.save(everything(Path(sys.argv[1]), here), Path(sys.argv[1]) / f"{here.rank}.pt")
