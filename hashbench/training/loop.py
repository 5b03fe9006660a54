"""The training loop of all methods that train a network."""

import math
import time
from typing import Any

import torch
from torch import Tensor, nn

from hashbench.contract import BitSettings, TimeIsOver, TrainingData, TrainingFailed
from hashbench.foundation.config import derive_seed, digest
from hashbench.foundation.errors import HashbenchError
from hashbench.foundation.progress import bar as progress_bar
from hashbench.losses import ItemObjective, RowObjective
from hashbench.losses.hswd import transport
from hashbench.training import checkpoint, distributed, optimiser
from hashbench.training.device import is_out_of_memory, pick_device, threads_for
from hashbench.training.hasher import DeepHasher
from hashbench.training.inputs import draw_augmentation
from hashbench.training.log import TITLES, Log
from hashbench.training.optimiser import learning_rate, tanh_scale
from hashbench.training.sampler import different, sampler
from hashbench.training.settings import DeepSettings, TrainingSettings

_EXAMPLES_CHECKED = 1000  # training examples whose codes are compared with each other after training


def train(settings: TrainingSettings, objective: RowObjective, data: TrainingData, method: str) -> DeepHasher:
    """The hasher trained on ``data``, after the last epoch (never the epoch that is best on the queries).

    Checkpoints are saved between epochs. The random numbers of an epoch depend on the seed and the epoch, so a run that
    was killed and started again ends with the same weights, bit for bit on a CPU. If several processes train together,
    all return the hasher and the first one writes files. The checkpoints stay until the caller removes them. Raises
    TrainingFailed, which names ``method``, if the loss is not finite, a batch raises HashbenchError, or all codes are
    equal; and TimeIsOver, after a checkpoint, if the next epoch would end after ``data.stop_at``.
    """
    trainer = Trainer(settings, objective, data, method)
    trainer.resume()
    config = {"method": method, "seed": data.seed, **settings.model_dump()}
    log = Log(data.folder, trainer.epochs_done, data.track, config) if data.group.is_first else None
    n_examples = settings.steps_per_epoch * settings.batch_size or len(data.items)  # of one epoch
    total, done = settings.epochs * n_examples, trainer.epochs_done * n_examples
    threads = threads_for(trainer.hasher.encoder, settings.batch_size)
    with threads, progress_bar("train", "item", total, shown=data.progress, scaled=True, done=done) as bar:
        latest: dict[str, float] = {}
        for epoch in range(trainer.epochs_done, settings.epochs):
            values = trainer.epoch(epoch, bar)
            found = trainer.evaluate_if_due()
            if log is not None:
                log.write(**values, **found)
            latest |= {"loss": values["loss"], **found}
            shown = ", ".join(f"{TITLES[name]} {value:.4f}" for name, value in latest.items())
            bar.set_postfix_str(f"epoch {epoch + 1} of {settings.epochs}, {shown}", refresh=False)
            trainer.stop_if_time_is_over()
            trainer.save_checkpoint_if_due()
    trainer.finish()
    if log is not None:
        trainer.hasher.save(data.folder)
        log.close()
    return trainer.hasher


class Trainer:
    """Trains one hasher; it holds the hasher, the optimiser, the objective and the number of finished epochs."""

    def __init__(self, settings: TrainingSettings, objective: RowObjective, data: TrainingData, method: str) -> None:
        self.settings, self.objective, self.data, self.method = settings, objective, data, method
        self.device = pick_device(data.device)
        compute = data.compute
        self.precision = settings.precision_on(self.device.type, compute)
        # a checkpoint is resumed with the same arithmetic only; the number of processes changes just the order of sums
        arithmetic = [self.device.type, self.precision, compute.compiled, compute.channels_last]
        torch.manual_seed(derive_seed(data.seed, "weights"))
        # [n, ...], or [c, n, d] of c augmented copies
        self.items = torch.from_numpy(data.items if data.copies is None else data.copies).to(self.device)
        self.batches = sampler(settings, torch.from_numpy(data.labels), data.seed)
        self.hasher = DeepHasher(settings, tuple(data.items.shape[1:]), data.value_max)
        self.hasher.start(torch.from_numpy(data.items), data.weights, data.base)
        beginning = [data.base.checksum()] if isinstance(data.base, DeepHasher) else []
        self.config = digest([settings.model_dump(exclude_defaults=True), data.seed, *arithmetic, *beginning])
        self.hasher.encoder = distributed.with_synchronised_batch_norm(self.hasher.encoder, data.group, self.device)
        self.hasher.to(self.device)
        if not compute.channels_last:
            self.hasher.encoder.to(memory_format=torch.contiguous_format)
        self.encode = torch.compile(self.hasher.encoder) if compute.compiled else self.hasher.encoder
        self.objective.to(self.device)
        self.optimiser = optimiser.build(settings, self.hasher.encoder, self.objective)
        self.made_by = checkpoint.made_by(self.device, self.precision)
        self.epochs_done = self.n_steps = 0  # the steps of all epochs are known when the first batches are drawn
        self.saved_at = self.epoch_began = time.monotonic()

    def resume(self) -> None:
        """Loads the checkpoint of this configuration, if there is one."""
        group = self.data.group
        found = checkpoint.load(self.data.folder, self.config, self.made_by) if group.is_first else None
        found = distributed.broadcast_from_first(found, group)
        if found is not None:
            self.epochs_done, state = found
            for name, part in self._parts().items():
                part.load_state_dict(state[name])

    def save_checkpoint_if_due(self) -> None:
        """Saves a checkpoint if the last one is ``checkpoint_every_s`` seconds old and the weights are finite."""
        if time.monotonic() - self.saved_at >= self.data.checkpoint_every_s:
            self._save_checkpoint()

    def stop_if_time_is_over(self) -> None:
        """Saves a checkpoint and raises TimeIsOver if an epoch as long as the last one would end too late.

        One epoch is trained in any case, so that many short calls come to an end.
        """
        now, stop_at = time.monotonic(), self.data.stop_at
        last_s = now - self.epoch_began
        self.epoch_began = now
        if stop_at is not None and now + last_s > stop_at and self.epochs_done < self.settings.epochs:
            self._save_checkpoint()
            raise TimeIsOver

    def _save_checkpoint(self) -> None:
        is_last = self.epochs_done == self.settings.epochs
        if self.data.group.is_first and not is_last and self._weights_are_finite():
            state = {name: part.state_dict() for name, part in self._parts().items()}
            checkpoint.save(self.data.folder, self.config, self.epochs_done, state, self.made_by)
            self.saved_at = time.monotonic()

    def _parts(self) -> dict[str, Any]:
        memory = {"objective": self.objective} if self.objective.state_dict() else {}
        return {"hasher": self.hasher, "optimiser": self.optimiser, **memory}

    def epoch(self, epoch: int, bar: Any) -> dict[str, float]:
        """Trains one epoch and returns its values for the log: mean loss, learning rate, seconds, ..."""
        started = time.monotonic()
        rank = self.data.group.rank
        torch.manual_seed(derive_seed(self.data.seed, "dropout", epoch, *([rank] if rank else [])))
        generators = Generators(self.data.seed, epoch)
        batches = self.batches(epoch)
        first, losses = epoch * len(batches), []
        self.n_steps = self.settings.epochs * len(batches)
        self.hasher.train()
        # one copy for the whole epoch: a copy at each step would let the GPU idle
        rows = torch.split(torch.cat(batches).to(self.device), [len(batch) for batch in batches])
        for step, batch in enumerate(rows, first):
            losses.append(self.step(epoch, step, batch, generators))
            bar.update(len(batch))
        found: list[float] = torch.stack(losses).tolist()  # read once: reading a value makes a GPU idle
        self.epochs_done, last = epoch + 1, first + len(batches) - 1
        for step, loss in enumerate(found, first):
            if not math.isfinite(loss):
                raise self._failure(f"epoch {epoch}, step {step}: the loss is {loss}: a smaller lr may help")
        self.objective.after_epoch(epoch)
        seconds = time.monotonic() - started
        return {
            "epoch": epoch,
            "step": last,
            "loss": sum(found) / len(found),
            "lr": learning_rate(self.settings, epoch, last, self.n_steps),
            "alpha": tanh_scale(self.settings, epoch, last),
            "images_per_s": round(sum(map(len, batches)) / seconds, 1),
            "seconds": round(seconds, 3),
            **self.objective.logged(),
        }

    def evaluate_if_due(self) -> dict[str, float]:
        """What ``data.evaluate`` finds each ``eval_every`` epochs and after the last one; else nothing.

        The training is the same without it: an epoch sets its random numbers and the mode of the network itself.
        """
        every, evaluate = self.data.eval_every, self.data.evaluate
        is_due = every and (self.epochs_done % every == 0 or self.epochs_done == self.settings.epochs)
        if not is_due or evaluate is None:
            return {}
        try:
            return evaluate(self.hasher)
        except HashbenchError:  # activations that are not finite: the training itself says so where it cannot go on
            return {}

    def _failure(self, what: str) -> TrainingFailed:
        kept = "; the last good checkpoint is kept" if (self.data.folder / checkpoint.FILE).exists() else ""
        return TrainingFailed(f"{self.method}: {what}{kept}")

    def finish(self) -> None:
        """Converts the encoder to the memory format of a saved one; TrainingFailed if it is of no use."""
        self.hasher.encoder.to(memory_format=torch.channels_last)
        if not self._weights_are_finite():
            raise self._failure("the weights are not finite after the last epoch: a smaller lr may help")
        codes = self.hasher.encode(self.data.items[:: math.ceil(len(self.data.items) / _EXAMPLES_CHECKED)])
        is_binary = isinstance(self.settings, BitSettings)
        if ((codes > 0) == (codes[0] > 0)).all() if is_binary else (codes == codes[0]).all():
            what = f"all {'codes' if is_binary else 'outputs'} are equal after the last epoch"
            raise self._failure(f"{what}: a smaller lr, or another tanh_scale, may help")

    def _weights_are_finite(self) -> bool:
        return all(bool(torch.isfinite(weight).all()) for weight in self.hasher.parameters())

    def step(self, epoch: int, step: int, rows: Tensor, generators: "Generators") -> Tensor:
        """Updates the weights once, on the examples ``rows``; returns the loss, detached."""
        settings, group = self.settings, self.data.group
        sharing = {"item": 1, "round": settings.classes_per_batch, "batch": len(rows)}[settings.augment_per]
        spare = self.hasher.spare
        views = rows.repeat(self.objective.n_views)
        augmentation = draw_augmentation(len(views), settings.augment, generators.augmentation, sharing, spare)
        alpha = tanh_scale(settings, epoch, step)
        examples = (views,) if self.data.copies is None else (self._copies_of(rows, generators), views)
        kept = self._kept(len(views), generators) if settings.feature_dropout else None

        def stored(part: slice) -> Tensor:
            items = self.items[tuple(index[part] for index in examples)]
            return items if kept is None else items * kept[part]

        def relaxed(part: slice) -> Tensor:
            items = augmentation.cut(stored(part), part)
            inputs = augmentation.apply(self.hasher.normalised(items), part)
            inputs = inputs if self.data.compute.channels_last else inputs.contiguous()
            with torch.autocast(self.device.type, torch.bfloat16, enabled=self.precision == "bfloat16"):
                activations = self.encode(inputs)
            activations = activations.float()
            return torch.tanh(alpha * activations) if settings.relaxation == "tanh" else activations

        def loss_of(codes: Tensor) -> Tensor:
            if isinstance(self.objective, ItemObjective):
                self.objective.items = stored(slice(None))
            try:
                value: Tensor = self.objective.forward(codes, rows, generators.objective)
            except HashbenchError as error:
                raise self._failure(f"epoch {epoch}, step {step}: {error}") from None
            weight = settings.transport if isinstance(settings, DeepSettings) else 0
            return value + weight * transport(codes, generators.objective) if weight else value

        rate = learning_rate(settings, epoch, step, self.n_steps)
        optimiser.set_learning_rate(self.optimiser, settings, rate)
        self.optimiser.zero_grad(set_to_none=True)
        try:
            own = relaxed(group.share(len(views)))
            loss = loss_of(distributed.gather_with_gradient(own, len(views), group))
            loss.backward()  # type: ignore[no-untyped-call]
        except RuntimeError as error:
            if is_out_of_memory(error):
                raise self._failure(f"no memory for a step with {len(views)} items: a smaller batch_size") from None
            raise
        # not those of the objective: each process computes the whole loss, and so their whole gradient
        distributed.sum_gradients(self.hasher.encoder.parameters(), group)
        if settings.clip_norm:
            nn.utils.clip_grad_norm_(self.hasher.encoder.parameters(), settings.clip_norm)
        self.optimiser.step()
        return loss

    def _copies_of(self, rows: Tensor, generators: "Generators") -> Tensor:
        """The copy of each of ``rows`` that this step takes; for several views different ones, view after view."""
        n, n_views = len(self.items), self.objective.n_views
        if n_views == 1:
            found = torch.randint(n, (len(rows),), generator=generators.augmentation)
        else:
            found = different(torch.full((len(rows),), n), n_views, generators.augmentation).T.flatten()
        return found.to(self.device)

    def _kept(self, n: int, generators: "Generators") -> Tensor:
        """The factors [n, ...] of the values of ``n`` items: 0 for those that are dropped, else 1 / (1 - dropout)."""
        share = self.settings.feature_dropout
        drawn = torch.rand(n, *self.data.items.shape[1:], generator=generators.dropout)
        return ((drawn >= share) / (1 - share)).to(self.device)


class Generators:
    """The random generators of an epoch: a change of one use does not change the others."""

    def __init__(self, seed: int, epoch: int) -> None:
        self.augmentation = torch.Generator().manual_seed(derive_seed(seed, "augment", epoch))
        self.objective = torch.Generator().manual_seed(derive_seed(seed, "examples", epoch))
        self.dropout = torch.Generator().manual_seed(derive_seed(seed, "feature_dropout", epoch))
