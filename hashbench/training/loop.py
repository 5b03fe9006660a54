"""The training loop of every deep method."""

import json
import time
from contextlib import AbstractContextManager

import torch
from torch import Tensor, nn
from tqdm import tqdm

from hashbench.config import digest
from hashbench.hasher import Fit
from hashbench.seeding import derive
from hashbench.training import checkpoint
from hashbench.training.augment import augment
from hashbench.training.failure import TrainingFailed
from hashbench.training.hasher import DeepHasher, pick_device
from hashbench.training.objective import Objective
from hashbench.training.sampler import epoch_batches
from hashbench.training.schedule import learning_rate, tanh_scale
from hashbench.training.settings import DeepSettings

LOG = "train.jsonl"


def train(settings: DeepSettings, objective: Objective, data: Fit) -> DeepHasher:
    """The hasher after the last epoch (never the best on the queries), trained on ``data``.

    A checkpoint is kept at the end of an epoch, every ``data.checkpoint_every_s`` seconds. Everything random is
    drawn anew each epoch from the names of the run, so a run that was killed and started again ends with the
    same weights, bit for bit on a CPU.
    """
    run = Run(settings, objective, data)
    run.resume()
    bar = tqdm(
        range(run.epochs_done, settings.epochs),
        "train",
        initial=run.epochs_done,
        total=settings.epochs,
        unit="epoch",
        disable=not data.progress,
        leave=False,
        delay=2,  # seconds: what is done before needs no bar
    )
    for epoch in bar:
        bar.set_postfix(refresh=False, loss=f"{run.epoch(epoch):.4f}")
    run.check_weights()
    run.hasher.save(data.folder)
    checkpoint.remove(data.folder)
    return run.hasher


class Run:
    """The state of one training: hasher, optimiser, and how many epochs are done."""

    def __init__(self, settings: DeepSettings, objective: Objective, data: Fit) -> None:
        self.settings, self.objective, self.data = settings, objective, data
        self.device = pick_device(data.device)
        # a run does not change its arithmetic half-way
        self.config = digest([settings.model_dump(), data.seed, self.device.type])
        torch.manual_seed(derive(data.seed, "weights"))
        self.items = torch.from_numpy(data.items).to(self.device)
        self.labels = torch.from_numpy(data.labels).to(self.device)
        self.hasher = DeepHasher(settings, tuple(data.items.shape[1:]))
        self.hasher.normalised.fit(torch.from_numpy(data.items))
        self.hasher.to(self.device)
        self.optimiser = _optimiser(settings, self.hasher.encoder)
        self.epochs_done = 0
        self.saved_at = time.monotonic()

    def resume(self) -> None:
        """Takes up the checkpoint of this configuration, where there is one."""
        kept = checkpoint.load(self.data.folder, self.config)
        if kept is not None:
            self.epochs_done, state = kept
            self.hasher.load_state_dict(state["hasher"])
            self.optimiser.load_state_dict(state["optimiser"])

    def save(self) -> None:
        """Keeps a checkpoint of the epochs done."""
        state = {"hasher": self.hasher.state_dict(), "optimiser": self.optimiser.state_dict()}
        checkpoint.save(self.data.folder, self.config, self.epochs_done, state)
        self.saved_at = time.monotonic()

    def epoch(self, epoch: int) -> float:
        """Trains one epoch and returns its mean loss."""
        started = time.monotonic()
        seed = self.data.seed
        torch.manual_seed(derive(seed, "dropout", epoch))
        draws = torch.Generator().manual_seed(derive(seed, "augment", epoch))
        batches = epoch_batches(len(self.items), self.settings.batch_size, seed, epoch)
        lr = learning_rate(self.settings, epoch)
        for group in self.optimiser.param_groups:
            group["lr"] = lr * group["lr_multiplier"]
        losses = [self.step(epoch, epoch * len(batches) + i, batch, draws) for i, batch in enumerate(batches)]
        self.epochs_done = epoch + 1
        loss = float(torch.stack(losses).mean())
        if not torch.isfinite(torch.tensor(loss)):
            raise TrainingFailed(f"epoch {epoch}: the loss is {loss}: a smaller lr may help")
        self._log(epoch=epoch, loss=loss, lr=lr, seconds=round(time.monotonic() - started, 3))
        if time.monotonic() - self.saved_at >= self.data.checkpoint_every_s and self.epochs_done < self.settings.epochs:
            self.save()
        return loss

    def check_weights(self) -> None:
        """Raises TrainingFailed where the last update was one too many."""
        if not all(torch.isfinite(weight).all() for weight in self.hasher.parameters()):
            raise TrainingFailed("the weights are not finite after the last epoch: a smaller lr may help")

    def step(self, epoch: int, step: int, batch: Tensor, draws: torch.Generator) -> Tensor:
        """One update; returns the loss, detached."""
        settings = self.settings
        self.hasher.train()
        rows = batch.to(self.device)
        inputs = augment(self.hasher.normalised(self.items[rows]), settings.augment, draws)
        with self._autocast():
            activations = self.hasher(inputs)
        relaxed = activations.float()
        if settings.relaxation == "tanh":
            relaxed = torch.tanh(tanh_scale(settings, epoch, step) * relaxed)
        loss = self.objective(relaxed, levels(self.labels[rows]))
        self.optimiser.zero_grad(set_to_none=True)
        loss.backward()  # type: ignore[no-untyped-call]
        if settings.clip_norm:
            nn.utils.clip_grad_norm_(self.hasher.encoder.parameters(), settings.clip_norm)
        self.optimiser.step()
        return loss.detach()

    def _autocast(self) -> AbstractContextManager[None]:
        half = self.settings.precision == "bfloat16" or (
            self.settings.precision == "auto" and self.device.type == "cuda"
        )
        return torch.autocast(self.device.type, torch.bfloat16, enabled=half)

    def _log(self, **values: float) -> None:
        with (self.data.folder / LOG).open("a") as file:
            file.write(json.dumps(values) + "\n")


def levels(labels: Tensor) -> Tensor:
    """Affinity levels [M, M] of a batch: agreement of class ids [M], or shared labels of multi-hot [M, labels]."""
    if labels.ndim == 1:
        return (labels[:, None] == labels[None, :]).long()
    # float32 products are exact for counts below 2^24, and integers have no matrix product on a GPU
    return (labels.float() @ labels.float().T).long()


def _optimiser(settings: DeepSettings, encoder: nn.Module) -> torch.optim.Optimizer:
    """SGD with momentum; the backbone learns at ``backbone_lr`` times the rate of the hash layer."""
    backbone, hash_layer = encoder.children()
    groups = [
        {"params": list(backbone.parameters()), "lr_multiplier": settings.backbone_lr},
        {"params": list(hash_layer.parameters()), "lr_multiplier": 1.0},
    ]
    return torch.optim.SGD(
        [group for group in groups if group["params"]],
        lr=settings.lr,
        momentum=settings.momentum,
        weight_decay=settings.weight_decay,
    )
