"""How long a run takes on this machine, measured on a part of it; nothing is stored."""

import time
from dataclasses import dataclass, replace
from math import ceil
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, cast

import numpy as np
from numpy.typing import NDArray

from hashbench.foundation import provenance
from hashbench.foundation.errors import HashbenchError
from hashbench.foundation.execution import Execution
from hashbench.foundation.parallel import training_threads
from hashbench.learning.contract import PIXELS, BinaryOutput, DamagedHasher, Hasher, Output, SavedHasher
from hashbench.learning.training.settings import TrainingSettings
from hashbench.running.datasets.protocol import Neighbours
from hashbench.running.features import path_of as features_path
from hashbench.running.runs.command import command_of
from hashbench.running.runs.data import RunData, open_data, require_supervision
from hashbench.running.runs.execute import encode, scored
from hashbench.running.runs.guard import is_saved, load_saved
from hashbench.running.runs.needs import missing_inputs
from hashbench.running.runs.past import Past
from hashbench.running.runs.run import Run
from hashbench.running.runs.store import Store
from hashbench.scoring.codes import Codes
from hashbench.scoring.relevance.labels import Relevance
from hashbench.scoring.relevance.neighbours import NeighbourRelevance

if TYPE_CHECKING:
    from hashbench.learning.training.speed import StepClock

SECONDS = 20.0  # of steps
LONG_S = 1.0  # a part of the encoding, or of the scoring, that takes so long tells how long all takes
# of all items: the first part, and the number of items that it has at least
SMALLEST = 1 / 256
LEAST = 64
Ids = NDArray[np.int64]


@dataclass(frozen=True)
class Speed:
    """How long a run takes on this machine; ``base`` is the run that it starts from, unless that is trained already."""

    run: Run
    n_items: int  # of all steps of the run
    timed_items: int
    timed_steps: int
    timed_s: float
    train_s: float  # this and the following are of the whole run
    encode_s: float
    score_s: float
    hasher_bytes: int
    device: str
    peak_memory: int | None  # of this process, in bytes
    gpu_memory: int | None  # of the GPU, in bytes: the most that PyTorch held
    base: "Speed | None" = None

    @property
    def items_per_s(self) -> float:
        """Training items a second."""
        return self.timed_items / self.timed_s

    @property
    def total_s(self) -> float:
        """The seconds of the whole run, without its base."""
        return self.train_s + self.encode_s + self.score_s


def measure(run: Run, store: Store, execution: Execution, seconds: float = SECONDS) -> Speed:
    """The speed of ``run``, by so many ``seconds`` of its steps and by parts of its encoding and scoring.

    The steps are the run's own: its items, objective, optimiser and checkpoints, in a folder that is removed.
    HashbenchError for a method without steps, where an input is not here, or where training fails.
    """
    if not isinstance(run.settings, TrainingSettings):
        past = Past.of_lines(store.lines(damaged=lambda _: None)).of_run(run)
        taken = "no row says how long it takes"
        if past is not None:
            taken = f"past runs like it took {past:.1f} s"
        fault = f"{run.name.method} trains no network, so it has no steps to time"
        raise HashbenchError(f"{fault}; {taken}: {command_of(run.name, run.name.identity)}")
    require_supervision(run)
    _require_inputs(run, weights=execution.weights is None)
    import torch  # noqa: F401  (the threads of what is imported later are not set)

    with TemporaryDirectory(prefix="hashbench-speed-") as folder, training_threads(execution.threads):
        speed, _ = _measured(run, store, Path(folder), execution, seconds)
    return speed


def _require_inputs(run: Run, *, weights: bool) -> None:
    """Raises HashbenchError, with how to get it, for the first input that is not here; features are inputs too."""
    for missing in missing_inputs([run], weights=weights)[str(run.name)]:
        raise HashbenchError(f"not here: {missing.what}: {missing.remedy}")
    names = [part.settings.features for part in (run, run.base) if part is not None]
    for name in names:
        if name != PIXELS and not features_path(run.card.name, name).is_file():
            how = f"hashbench features {run.card.name} --model {name} extracts them, and says how long that takes"
            raise HashbenchError(f"not here: the features {name} of {run.card.name}: {how}")


def _measured(run: Run, store: Store, folder: Path, execution: Execution, seconds: float) -> tuple[Speed, Hasher]:
    """The speed of a run, and its hasher as the timed steps left it."""
    from hashbench.learning.training.device import pick_device
    from hashbench.learning.training.speed import Enough, StepClock

    base = None
    base_hasher = None
    if run.base is not None and is_saved(run.base, store):
        base_hasher = load_saved(run.base, store, execution.device)
    elif run.base is not None:
        base, base_hasher = _measured(run.base, store, folder / "base", execution, seconds)
    folder.mkdir(exist_ok=True)
    data = open_data(run, execution)
    clock = StepClock(seconds)
    settings = cast("TrainingSettings", run.settings)
    n_items = settings.epochs * settings.items_of_epoch(len(data.ids.train_ids))
    started = time.perf_counter()
    try:
        hasher = run.method.fit(run.settings, replace(data.training(folder, execution, base_hasher), after_step=clock))
        train_s = time.perf_counter() - started
        timed_items = n_items
        timed_steps = clock.n_all_steps
        timed_s = train_s
    except Enough:
        hasher = _hasher(run, clock, folder, execution, base_hasher)
        timed_items = clock.n_items
        timed_steps = clock.n_steps
        timed_s = clock.timed_s
        train_s = clock.before_s + n_items / timed_items * timed_s
    hasher.save(folder)
    encode_s, score_s = _encoding_and_scoring(hasher, data, folder, execution)
    device = pick_device(execution.device)
    speed = Speed(
        run,
        n_items,
        timed_items,
        timed_steps,
        timed_s,
        train_s,
        encode_s,
        score_s,
        hasher_bytes=sum(path.stat().st_size for path in folder.glob("hasher.*")),
        device=str(device),
        peak_memory=provenance.peak_memory(),
        gpu_memory=provenance.gpu_memory(str(device)),
        base=base,
    )
    return speed, hasher


def _hasher(run: Run, clock: "StepClock", folder: Path, execution: Execution, base: Hasher | None) -> Hasher:
    """The method's hasher with the network that the clock stopped; the network itself if it saves more than that."""
    clock.network.save(folder)
    try:
        return run.method.load(run.settings, SavedHasher(folder, execution.device, base))
    except DamagedHasher:
        return clock.network


class _Part(RunData):
    """Some of the queries and of the database."""

    @property
    def relevance(self) -> Relevance:
        """As of the whole; in place of neighbours, which would be stored, any items."""
        rule = self.run.protocol.relevance
        if not isinstance(rule, Neighbours):
            return super().relevance
        nearest = np.arange(min(rule.k, len(self.ids.database_ids)))
        return NeighbourRelevance(np.tile(nearest, (len(self.ids.query_ids), 1)), len(self.ids.database_ids))


def _part(data: RunData, share: float) -> _Part:
    """The ``share`` of the queries and of the database, evenly spaced, and not too few of either."""

    def spaced(ids: Ids) -> Ids:
        n = max(ceil(share * len(ids)), min(LEAST, len(ids)))
        return ids[np.linspace(0, len(ids) - 1, n).astype(np.int64)]

    ids = replace(data.ids, query_ids=spaced(data.ids.query_ids), database_ids=spaced(data.ids.database_ids))
    return _Part(
        data.run,
        data.dataset,
        ids,
        data.items,
        data.value_max,
        data.compared,
        data.features_sha256,
        data.copies,
        data.progress,
    )


def _encoding_and_scoring(hasher: Hasher, data: RunData, folder: Path, execution: Execution) -> tuple[float, float]:
    """The seconds to encode and to score everything, by those of parts, each twice as large as the one before.

    Each part is timed twice, and the faster time counts: the first may hold the compilation of a kernel.
    """
    quiet = replace(execution, progress=False)
    encoded: list[tuple[int, float]] = []  # items, seconds
    counted: list[tuple[int, float]] = []  # pairs of a query and an item, seconds
    share = SMALLEST
    smallest = _part(data, share)
    scored(encode(hasher, smallest, quiet), smallest, folder, quiet)  # kernels are compiled
    while True:
        part = _part(data, share)
        encode_s = []
        for _ in range(2):
            started = time.perf_counter()
            output = encode(hasher, part, quiet)
            encode_s.append(time.perf_counter() - started)
        encoded.append((_n_items(part), min(encode_s)))
        counted.append((_n_pairs(part), _seconds_to_score(output, part, folder, quiet)))
        if share == 1 or encoded[-1][1] + counted[-1][1] >= LONG_S:
            break
        share *= 2
    # the codes of few items are those of many: the encoding may have ended while the scoring was too short
    while isinstance(output, BinaryOutput) and share < 1 and counted[-1][1] < LONG_S:
        share *= 2
        part = _part(data, share)
        counted.append((_n_pairs(part), _seconds_to_score(_repeated(output, part), part, folder, quiet)))
    return _seconds_of_all(encoded, _n_items(data)), _seconds_of_all(counted, _n_pairs(data))


def _n_items(data: RunData) -> int:
    return len(data.ids.query_ids) + len(data.ids.database_ids)


def _n_pairs(data: RunData) -> int:
    return len(data.ids.query_ids) * len(data.ids.database_ids)


def _seconds_to_score(output: Output, data: RunData, folder: Path, execution: Execution) -> float:
    score_s = []
    for _ in range(2):
        started = time.perf_counter()
        scored(output, data, folder, execution)
        score_s.append(time.perf_counter() - started)
    return min(score_s)


def _repeated(output: BinaryOutput, data: RunData) -> BinaryOutput:
    """The codes of ``output``, repeated until there are as many as ``data`` has items."""
    items = data.search_items

    def of(codes: Codes, n: int) -> Codes:
        return Codes(np.resize(codes.words, (n, codes.words.shape[1])), codes.n_bits)

    return replace(
        output,
        query=of(output.query, len(items.queries)),
        database=of(output.database, len(items.database)),
        data=items,
        activations=None,
    )


def _seconds_of_all(parts: list[tuple[int, float]], whole: int) -> float:
    """The seconds of the ``whole`` on the line through the last part (amount, seconds) and one before it, or 0."""
    last, last_s = parts[-1]
    before, before_s = max((part for part in parts if part[0] < last), default=(0, 0.0))
    slope = max(0.0, last_s - before_s) / (last - before)
    return last_s + slope * (whole - last)
