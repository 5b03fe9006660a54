"""The training loop of all methods that train a network."""

import math
import time
from collections.abc import Iterator
from typing import Any

import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from hashbench.foundation.config import derive_seed, digest
from hashbench.foundation.errors import HashbenchError, retold
from hashbench.foundation.progress import bar as progress_bar
from hashbench.learning.contract import BitSettings, TimeIsOver, TrainingData, TrainingFailed
from hashbench.learning.losses import ItemObjective, RowObjective
from hashbench.learning.losses.hswd import transport
from hashbench.learning.training import checkpoint, checkpoint_files, graphs, optimiser
from hashbench.learning.training.batch import Batch, Batches, generator_of_objective
from hashbench.learning.training.device import fastest_algorithms, is_out_of_memory, pick_device, threads_for
from hashbench.learning.training.graphs import RecordedSteps, StepParts
from hashbench.learning.training.hasher import DeepHasher
from hashbench.learning.training.log import TITLES, Log
from hashbench.learning.training.optimiser import learning_rate, tanh_scale
from hashbench.learning.training.sampler import sampler
from hashbench.learning.training.settings import DeepSettings, TrainingSettings

_EXAMPLES_CHECKED = 1000  # training examples whose codes are compared with each other after training


def train(settings: TrainingSettings, objective: RowObjective, data: TrainingData, method: str) -> DeepHasher:
    """The hasher trained on ``data``, after the last epoch (never the epoch that is best on the queries).

    Checkpoints are saved between epochs. The random numbers of an epoch depend on the seed and the epoch, so a run that
    was killed and started again ends with the same weights, bit for bit on a CPU. The checkpoints stay until the caller
    removes them. Raises TrainingFailed, which names ``method``, if the loss is not finite, a batch raises
    HashbenchError, or all codes are equal; and TimeIsOver, after a checkpoint, if the next epoch would end after
    ``data.execution.stop_at``.
    """
    no_room = f"{method}: no memory on the GPU for the network and the training items: another program may use it"
    with retold(lambda _: no_room, torch.OutOfMemoryError):
        trainer = Trainer(settings, objective, data, method)
    trainer.resume()
    config = {"method": method, "seed": data.seed, **settings.model_dump()}
    log = Log(data.folder, trainer.epochs_done, data.execution.track, config)
    n_examples = settings.items_of_epoch(len(data.items))
    total = settings.epochs * n_examples
    done = trainer.epochs_done * n_examples
    threads = threads_for(trainer.hasher.encoder, settings.batch_size)
    with threads, progress_bar("train", "item", total, shown=data.execution.progress, scaled=True, done=done) as bar:
        latest: dict[str, float] = {}
        for epoch in range(trainer.epochs_done, settings.epochs):
            values = trainer.epoch(epoch, bar)
            scores = trainer.evaluate_if_due()
            log.write(values | scores)
            latest |= {"loss": values["loss"], **scores}
            shown = ", ".join(f"{TITLES[name]} {value:.4f}" for name, value in latest.items())
            bar.set_postfix_str(f"epoch {epoch + 1} of {settings.epochs}, {shown}", refresh=False)
            trainer.stop_if_time_is_over()
            trainer.save_checkpoint_if_due()
    trainer.finish()
    trainer.hasher.save(data.folder)
    log.close()
    return trainer.hasher


class Trainer:
    """Trains one hasher; it holds the hasher, the optimiser, the objective and the number of finished epochs."""

    def __init__(self, settings: TrainingSettings, objective: RowObjective, data: TrainingData, method: str) -> None:
        self.settings = settings
        self.objective = objective
        self.data = data
        self.method = method
        self.device = pick_device(data.execution.device)
        self.precision = settings.precision_on(self.device.type, data.execution.precision)
        # a checkpoint is resumed with the same arithmetic only; none is of a compiled encoder, or of channels not last
        arithmetic = [self.device.type, self.precision, False, True]
        torch.manual_seed(derive_seed(data.seed, "weights"))
        self.sampler = sampler(settings, torch.from_numpy(data.labels), data.seed)
        self.hasher = DeepHasher(settings, tuple(data.items.shape[1:]), data.value_max)
        self.hasher.start(torch.from_numpy(data.items), data.execution.weights, data.base)
        beginning = []
        if isinstance(data.base, DeepHasher):
            beginning = [data.base.checksum()]
        self.config = digest([settings.model_dump(exclude_defaults=True), data.seed, *arithmetic, *beginning])
        self.hasher.to(self.device)
        self.objective.to(self.device)
        self.batches = Batches(settings, data, self.device, objective.n_views, self.hasher.spare)
        self.recorded = self._recorded()
        self.optimiser = optimiser.build(settings, self.hasher.encoder, self.objective)
        self.epochs_done = self.n_steps = 0  # the steps of all epochs are known when the first batches are drawn
        self.saved_at = self.epoch_began = time.monotonic()

    def resume(self) -> None:
        """Loads the checkpoint of this configuration, if there is one."""
        saved = checkpoint.load(self.data.folder, self.config)
        if saved is not None:
            self.epochs_done, state = saved
            for name, part in self._parts().items():
                part.load_state_dict(state[name])

    def save_checkpoint_if_due(self) -> None:
        """Saves a checkpoint if the last one is ``checkpoint_every_s`` seconds old and the weights are finite."""
        if time.monotonic() - self.saved_at >= self.data.execution.checkpoint_every_s:
            self._save_checkpoint()

    def stop_if_time_is_over(self) -> None:
        """Saves a checkpoint and raises TimeIsOver if an epoch as long as the last one would end too late.

        One epoch is trained in any case, so that many short calls come to an end.
        """
        now = time.monotonic()
        stop_at = self.data.execution.stop_at
        last_s = now - self.epoch_began
        self.epoch_began = now
        if stop_at is not None and now + last_s > stop_at and self.epochs_done < self.settings.epochs:
            self._save_checkpoint()
            raise TimeIsOver

    def _save_checkpoint(self) -> None:
        is_last = self.epochs_done == self.settings.epochs
        if not is_last and self._weights_are_finite():
            state = {name: part.state_dict() for name, part in self._parts().items()}
            checkpoint.save(self.data.folder, self.config, self.epochs_done, state)
            self.saved_at = time.monotonic()

    def _parts(self) -> dict[str, Any]:
        parts: dict[str, Any] = {"hasher": self.hasher, "optimiser": self.optimiser}
        if self.objective.state_dict():
            parts["objective"] = self.objective
        return parts

    def epoch(self, epoch: int, bar: Any) -> dict[str, float]:
        """Trains one epoch and returns its values for the log: mean loss, learning rate, seconds, ..."""
        started = time.monotonic()
        losses = list[Tensor]()
        n_trained = 0
        for n_examples, loss in self.steps(epoch):
            losses.append(loss)
            n_trained += n_examples
            bar.update(n_examples)
            if self.data.after_step is not None:
                self.data.after_step(self.hasher, n_examples)
        values: list[float] = torch.stack(losses).tolist()  # read once: reading a value makes a GPU idle
        self.epochs_done = epoch + 1
        first = epoch * len(losses)
        last = (epoch + 1) * len(losses) - 1
        for step, value in enumerate(values, first):
            if not math.isfinite(value):
                raise self._failure(f"epoch {epoch}, step {step}: the loss is {value}: a smaller lr may help")
        self.objective.after_epoch(epoch)
        seconds = time.monotonic() - started
        return {
            "epoch": epoch,
            "step": last,
            "loss": sum(values) / len(values),
            "lr": learning_rate(self.settings, epoch, last, self.n_steps),
            "alpha": tanh_scale(self.settings, epoch, last),
            "images_per_s": round(n_trained / seconds, 1),
            "seconds": round(seconds, 3),
            **self.objective.logged(),
        }

    def evaluate_if_due(self) -> dict[str, float]:
        """What ``data.evaluate`` finds each ``eval_every`` epochs and after the last one; else nothing.

        The training is the same without it: an epoch sets its random numbers and the mode of the network itself.
        """
        every = self.data.execution.eval_every
        evaluate = self.data.evaluate
        is_due = every and (self.epochs_done % every == 0 or self.epochs_done == self.settings.epochs)
        if not is_due or evaluate is None:
            return {}
        try:
            return evaluate(self.hasher)
        except HashbenchError:  # activations that are not finite: the training itself says so where it cannot go on
            return {}

    def _failure(self, what: str) -> TrainingFailed:
        kept = ""
        if (self.data.folder / checkpoint_files.FILE).exists():
            kept = "; the last good checkpoint is kept"
        return TrainingFailed(f"{self.method}: {what}{kept}")

    def finish(self) -> None:
        """Converts the encoder to the memory format of a saved one; TrainingFailed if it is of no use."""
        self.hasher.encoder.to(memory_format=torch.channels_last)
        if not self._weights_are_finite():
            raise self._failure("the weights are not finite after the last epoch: a smaller lr may help")
        examples = self.data.items[:: math.ceil(len(self.data.items) / _EXAMPLES_CHECKED)]
        outputs: NDArray[Any] = self.hasher.encode(examples)
        what = "outputs"
        if isinstance(self.settings, BitSettings):
            what = "codes"
            outputs = outputs > 0
        if (outputs == outputs[0]).all():
            advice = "a smaller lr, or another tanh_scale, may help"
            raise self._failure(f"all {what} are equal after the last epoch: {advice}")

    def _weights_are_finite(self) -> bool:
        return all(bool(torch.isfinite(weight).all()) for weight in self.hasher.parameters())

    def steps(self, epoch: int) -> Iterator[tuple[int, Tensor]]:
        """Trains an epoch step by step: yields the number of examples of a step, and its loss, on the device."""
        torch.manual_seed(derive_seed(self.data.seed, "dropout", epoch))
        generator = generator_of_objective(self.data.seed, epoch)
        examples = self.sampler(epoch)
        self.n_steps = self.settings.epochs * len(examples)
        self.hasher.train()
        with fastest_algorithms(self.device):
            for batch in self.batches.epoch(epoch, examples):
                yield len(batch.rows), self.step(batch, generator)

    def step(self, batch: Batch, generator: torch.Generator) -> Tensor:
        """Updates the weights once, on a batch; returns the loss, detached."""
        rate = learning_rate(self.settings, batch.epoch, batch.step, self.n_steps)
        optimiser.set_learning_rate(self.optimiser, self.settings, rate)
        loss = None
        try:
            if self.recorded is None:
                loss = self._plain(batch, generator)
            else:
                loss = self.recorded.run(batch, generator, lambda: self._plain(batch, generator))
        except RuntimeError as error:
            if not is_out_of_memory(error):
                raise
        if loss is None:  # the error is gone, and with it the memory that its frames held
            raise self._failure(f"no memory for a step with {len(batch.items)} items: a smaller batch_size")
        if self.settings.clip_norm:
            nn.utils.clip_grad_norm_(self.hasher.encoder.parameters(), self.settings.clip_norm)
        self.optimiser.step()
        return loss

    def _plain(self, batch: Batch, generator: torch.Generator) -> Tensor:
        """The loss of a batch, detached; afterwards all weights have their gradients."""
        self.optimiser.zero_grad(set_to_none=True)
        loss = self._loss(self._codes(batch), batch, generator)
        loss.backward()  # type: ignore[no-untyped-call]
        return loss.detach()

    def _codes(self, batch: Batch) -> Tensor:
        """The relaxed codes of the items of a batch."""
        items = batch.augmentation.cut(batch.items)
        inputs = batch.augmentation.apply(self.hasher.normalised(items))
        with torch.autocast(self.device.type, torch.bfloat16, enabled=self.precision == "bfloat16"):
            activations = self.hasher.encoder(inputs)
        activations = activations.float()
        if self.settings.relaxation == "tanh":
            return torch.tanh(batch.tanh_scale * activations)
        return activations

    def _loss(self, codes: Tensor, batch: Batch, generator: torch.Generator) -> Tensor:
        if isinstance(self.objective, ItemObjective):
            self.objective.items = batch.items
        try:
            value: Tensor = self.objective.forward(codes, batch.rows, generator)
        except HashbenchError as error:
            raise self._failure(f"epoch {batch.epoch}, step {batch.step}: {error}") from None
        if isinstance(self.settings, DeepSettings) and self.settings.transport:
            return value + self.settings.transport * transport(codes, generator)
        return value

    def _recorded(self) -> RecordedSteps | None:
        """What records the steps of a long run on a GPU; else None."""
        recorder = graphs.recorder_for(self.device)
        n_steps = self.settings.epochs * self.settings.items_of_epoch(len(self.data.items)) / self.settings.batch_size
        if recorder is None or n_steps < graphs.LEAST_STEPS:
            return None
        has_own_steps = type(self.objective).after_epoch is not RowObjective.after_epoch
        is_static = not has_own_steps and not self.objective.uses_cpu
        parts = StepParts(self.hasher.encoder, self.objective, is_static, self._codes, self._loss)
        return RecordedSteps(parts, recorder)
