"""Shards counted by a Ray cluster: a task for each, with one core; the driver adds what they return."""

from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from hashbench.foundation.errors import HashbenchError
from hashbench.grid.cluster import connected, files_of_driver, reader, why
from hashbench.grid.worker import Died
from hashbench.shards._on_node import Sent, do, sent
from hashbench.shards._shard import Shard
from hashbench.shards._task import Counts, Seen, Source
from hashbench.shards._workers import Told, followed

A_CORE = 2  # tasks that the cluster has at the same time: one is counted while the next one waits for its core


@dataclass(frozen=True)
class Cluster:
    """A Ray cluster that this process is connected to."""

    ray: Any
    files: Any  # the actor that reads the driver's files for the nodes

    def done(self, source: Source, shards: Sequence[Shard], seen: Sequence[Seen]) -> Generator[tuple[int, Counts]]:
        """(place among ``shards``, counts) of each shard, as they end; as ``_workers.done``."""
        tasks = sent(replace(source, device=self._device(source.device)), shards, seen)
        crew = _Crew(self, self._task(source.device))
        return followed(list(map(str, shards)), crew, lambda at: crew.give(at, tasks[at]))

    def _device(self, device: str) -> str:
        """The device of a task, which sees its own GPU alone; without one said, it is its core."""
        if not device.startswith("cuda"):
            return "cpu"
        if self.ray.cluster_resources().get("GPU", 0) < 1:
            raise HashbenchError(f"--device {device}: no node of the cluster has a GPU: leave --device out")
        return "cuda:0"

    def _task(self, device: str) -> Any:
        """The function that nodes execute, with what each call of it needs; ``followed`` tries again what dies."""
        return self.ray.remote(num_cpus=1, num_gpus=int(device.startswith("cuda")), max_retries=0)(_on_node)


@contextmanager
def cluster_at(address: str) -> Iterator[Cluster]:
    """The Ray cluster at the address, during the block; raises HashbenchError where there is none."""
    with connected(address) as ray:
        yield Cluster(ray, files_of_driver(ray))


@dataclass
class _Crew:
    """The tasks that the cluster has at the moment."""

    cluster: Cluster
    on_node: Any
    running: dict[Any, int] = field(default_factory=dict)

    @property
    def has_room(self) -> bool:
        """Whether it takes one more: so few that their results fit into the memory of the nodes."""
        cores = int(self.cluster.ray.cluster_resources().get("CPU", 0))
        return len(self.running) < A_CORE * max(1, cores)

    @property
    def is_busy(self) -> bool:
        """Whether it has a task."""
        return bool(self.running)

    def give(self, at: int, task: Sent) -> None:
        """Gives the cluster a task."""
        self.running[self.on_node.remote(task, self.cluster.files)] = at

    def ended(self) -> Iterator[tuple[int, Any]]:
        """(place, result) of tasks that have ended; waits for the first."""
        ready, _ = self.cluster.ray.wait(list(self.running), num_returns=1)
        for reference in ready:
            yield self.running.pop(reference), self._result(reference)

    def _result(self, reference: Any) -> Any:
        try:
            return self.cluster.ray.get(reference)
        except self.cluster.ray.exceptions.RayError as error:
            return Died(why(error))


def _on_node(task: Sent, files: Any) -> Counts | HashbenchError:
    return Told(partial(do, task, reader(files)))()
