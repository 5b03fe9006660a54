"""Time to read data sets from the store, compared with other file formats, and to compute relevance by distance.

Run `python benchmarks/datasets.py` after `hashbench download cifar10` (HASHBENCH_DATA names the folder). Figures are
medians of 5 runs (of 3 or 1 for those that take seconds); files are in the cache of the operating system, as they are
after the first epoch. Writes results/benchmarks/datasets-MACHINE.json.
"""

import io
import statistics
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import _record
import h5py
import numpy as np
from numpy.typing import NDArray
from PIL import Image

from hashbench.running.datasets import store, stored_file
from hashbench.running.datasets.audit import audit, byte_keys
from hashbench.running.datasets.card import load_card
from hashbench.running.datasets.split import split
from hashbench.scoring.relevance import percentiles
from hashbench.scoring.relevance.distances import DistanceRelevance

REPETITIONS = 5
BATCH, N_BATCHES = 256, 40
WORKERS = (1, 2, 4)
CHUNK = 64  # images, in the chunked file
# the targets for two cores
ASKED = {"CIFAR-10 into memory, verified": "1 s", "mapped, batches of 256": "20,000 images a second"}


@dataclass(frozen=True)
class Timing:
    """The time that something took for ``n`` images or pairs."""

    what: str
    n: int
    unit: str
    median_s: float
    fastest_s: float
    repetitions: int

    @property
    def per_s(self) -> float:
        """Images or pairs per second, at the median."""
        return self.n / self.median_s


def timed(what: str, n: int, unit: str, run: Callable[[], object], repetitions: int = REPETITIONS) -> Timing:
    if repetitions > 1:
        run()
    seconds = []
    for _ in range(repetitions):
        started = time.perf_counter()
        run()
        seconds.append(time.perf_counter() - started)
    found = Timing(what, n, unit, statistics.median(seconds), min(seconds), repetitions)
    print(f"{what:<58} {found.median_s:>8.3f} s  {found.per_s:>14,.0f} {unit}s a second", flush=True)
    return found


def batches(n_items: int, seed: int) -> list[NDArray[np.int64]]:
    """The ids of random batches; each is sorted, as h5py requires."""
    rng = np.random.default_rng(seed)
    return [np.sort(rng.choice(n_items, BATCH, replace=False)) for _ in range(N_BATCHES)]


def mapped() -> NDArray[Any]:
    """The items of CIFAR-10, memory-mapped as those of a larger data set are."""
    stored_file.IN_MEMORY_BYTES = 0
    try:
        return store.open_dataset(load_card("cifar10")).items
    finally:
        stored_file.IN_MEMORY_BYTES = 1 << 30


def read_mapped(seed: int) -> int:
    items = mapped()
    return sum(int(items[ids].shape[0]) for ids in batches(len(items), seed))


def read_chunked(path: Path, seed: int) -> int:
    with h5py.File(path) as file:
        return sum(len(file["items"][ids]) for ids in batches(len(file["items"]), seed))


def read_pngs(folder: Path, n_items: int, seed: int) -> int:
    return sum(len([np.asarray(Image.open(folder / f"{item}.png")) for item in ids]) for ids in batches(n_items, seed))


def write_alternatives(items: NDArray[np.uint8], folder: Path) -> Path:
    """The path of an HDF5 file with the images in chunks, plain and compressed; writes them as PNG files too."""
    with h5py.File(folder / "chunked.h5", "w") as file:
        shape = (CHUNK, *items.shape[1:])
        file.create_dataset("items", data=items, chunks=shape, compression="gzip", shuffle=True, fletcher32=True)
        file.create_dataset("plain", data=items, chunks=shape)
    for item in range(10_000):
        buffer = io.BytesIO()
        Image.fromarray(items[item]).save(buffer, "PNG")
        (folder / f"{item}.png").write_bytes(buffer.getvalue())
    return folder / "chunked.h5"


def read_chunked_plain(path: Path, seed: int) -> int:
    with h5py.File(path) as file:
        return sum(len(file["plain"][ids]) for ids in batches(len(file["plain"]), seed))


def reading(folder: Path) -> list[Timing]:
    data = store.open_dataset(load_card("cifar10"))
    n, chunked = BATCH * N_BATCHES, write_alternatives(data.items, folder)
    found = [timed("CIFAR-10 into memory, verified", 60_000, "image", lambda: store.open_dataset(load_card("cifar10")))]
    items = mapped()
    ids = batches(len(items), 0)
    found += [
        timed("mapped, batches of 256", n, "image", lambda: [items[each] for each in ids]),
        timed("mapped, batches of 256, and opened each time", n, "image", lambda: read_mapped(0)),
        timed("chunked HDF5 by h5py, batches of 256", n, "image", lambda: read_chunked_plain(chunked, 0), 1),
        timed("chunked and compressed HDF5 by h5py, batches of 256", n, "image", lambda: read_chunked(chunked, 0), 1),
        timed("PNG files decoded by PIL, batches of 256", n, "image", lambda: read_pngs(folder, 10_000, 0)),
    ]
    return found + [together(workers) for workers in WORKERS]


def _items_of_worker(seed: int) -> int:
    items = mapped()
    return sum(int(items[ids].sum(dtype=np.int64) > 0) * BATCH for ids in batches(len(items), seed) * 5)


def together(workers: int) -> Timing:
    """The time of several processes that each open the file, read random batches and add up the pixels."""
    n = BATCH * N_BATCHES * 5 * workers
    with ProcessPoolExecutor(workers, mp_context=get_context("spawn")) as pool:
        list(pool.map(_items_of_worker, range(workers)))
        what = f"mapped, opened and read by {workers} processes at once"
        return timed(what, n, "image", lambda: list(pool.map(_items_of_worker, range(workers))))


def auditing() -> list[Timing]:
    card, data = load_card("cifar10"), store.open_dataset(load_card("cifar10"))
    rule = card.protocol("s1")
    chosen = split(data.labels, rule, "cifar10", "s1")
    million = np.random.default_rng(0).random((1_000_000, 128), np.float32)
    return [
        timed("split, CIFAR-10 s1", 60_000, "image", lambda: split(data.labels, rule, "cifar10", "s1")),
        timed("audit, CIFAR-10 s1", 60_000, "image", lambda: audit(data, chosen, rule, 0)),
        timed("hash of each item, 1,000,000 x 128 floats", 1_000_000, "item", lambda: byte_keys(million), 3),
    ]


def distances() -> list[Timing]:
    rng = np.random.default_rng(0)
    train = rng.standard_normal((5000, 512))
    query, database = (rng.standard_normal((n, 128)).astype(np.float32) for n in (1000, 100_000))
    near = percentiles.nearest(query, database, 2000)
    relevance = DistanceRelevance(query, database, near[None])
    pairs, cross = 5000 * 4999 // 2, 1000 * 100_000
    return [
        timed("percentiles, 5,000 x 512", pairs, "pair", lambda: percentiles.percentiles(train, [5, 1, 0.2, 0.1]), 3),
        timed("the same, all distances sorted out by NumPy", pairs, "pair", lambda: by_numpy(train), 1),
        timed(
            "nearest 2% of 1,000 x 100,000 x 128",
            cross,
            "pair",
            lambda: percentiles.nearest(query, database, 2000),
            3,
        ),
        timed("levels of all their pairs", cross, "pair", lambda: [None for _ in relevance.pieces()], 3),
    ]


def by_numpy(features: NDArray[np.float64]) -> NDArray[np.float64]:
    """Percentiles of the distances, with all distances in memory at once."""
    rows = [np.sqrt(((row - features[i + 1 :]) ** 2).sum(axis=1)) for i, row in enumerate(features[:-1])]
    return np.percentile(np.concatenate(rows), [5, 1, 0.2, 0.1], method="hazen")


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        timings = [*reading(Path(folder)), *auditing(), *distances()]
    rates = [{**asdict(timing), "per_s": round(timing.per_s)} for timing in timings]
    _record.write("datasets", {"asked": ASKED, "timings": rates})


if __name__ == "__main__":
    main()
