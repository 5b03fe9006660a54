"""One run, from data to row: open the data, fit or load the hasher, encode, count, score."""

import json
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import cast

import numpy as np

from hashbench.codes import Codes
from hashbench.contract import WHOLE_BATCHES, BinaryHasher, BinaryOutput, Hasher, Output, TrainingFailed, concatenated
from hashbench.foundation import provenance
from hashbench.foundation.config import json_object
from hashbench.foundation.errors import HashbenchError
from hashbench.foundation.files import write_text
from hashbench.foundation.parallel import ProcessGroup
from hashbench.runs.data import RunData, open_data
from hashbench.runs.row import Row, Seconds
from hashbench.runs.run import Options, Run
from hashbench.runs.score import failed_row, measured_row, score
from hashbench.training import log

FITTED = "fitted.json"  # the code version that fitted the hasher, and the seconds it took


def execute(run: Run, folder: Path, options: Options, base: Callable[[], Hasher] | None = None) -> Row:
    """The row of ``run``, whose steps are all done now; its codes, counts and hasher are written into ``folder``.

    ``base`` returns the hasher that the run starts from. Training that fails gives a failed row.
    """
    data = open_data(run, options)
    try:
        hasher, train_s = fit(data, folder, options, None if base is None else base())
    except TrainingFailed as failure:
        return failed_row(data, str(failure), options)

    fitted = time.perf_counter()
    output = encode(hasher, data, options)
    output.save(folder)

    encoded = time.perf_counter()
    evidence = output.count(data.relevance, progress=options.progress)
    evidence.save(folder)
    metrics = score(evidence, run.protocol.metrics)

    score_s = time.perf_counter() - encoded
    seconds = Seconds(train=round(train_s, 3), encode=round(encoded - fitted, 3), score=round(score_s, 3))
    return measured_row(data, evidence, metrics, seconds, options)


def fit(data: RunData, folder: Path, options: Options, base: Hasher | None) -> tuple[Hasher, float]:
    """The fitted hasher, which is also saved in ``folder``, and the wall time of its training in seconds.

    If the same commit saved it there (and was killed before it wrote the row), it is loaded. May raise TrainingFailed.
    """
    run = data.run
    if options.group.is_alone and (seconds := _seconds_of_saved(folder)) is not None:
        with suppress(HashbenchError):  # a hasher that is damaged or gone is fitted again
            return run.saved_in(folder, options.device, base), seconds
    started = time.perf_counter()
    (folder / FITTED).unlink(missing_ok=True)
    hasher = run.method.fit(run.settings, data.training(folder, options, base))
    seconds = time.perf_counter() - started
    if options.group.is_first:
        hasher.save(folder)
        seconds = max(seconds, log.seconds(folder))
        write_text(folder / FITTED, json.dumps({"code": provenance.code().model_dump(), "seconds": seconds}) + "\n")
    return hasher, seconds


def _seconds_of_saved(folder: Path) -> float | None:
    """The training seconds of the hasher saved in ``folder``; None unless this commit trained it."""
    code = provenance.code()
    try:
        kept = json_object((folder / FITTED).read_text())
        is_same = code.commit is not None and not code.dirty and kept["code"] == code.model_dump()
        return float(kept["seconds"]) if is_same else None
    except (OSError, ValueError, KeyError, TypeError):
        return None


def encode(hasher: Hasher, data: RunData, options: Options) -> Output:
    """The output of ``hasher``: each process encodes its share, and every process returns all codes."""
    group, items = options.group, data.search_items
    if group.is_alone:
        return hasher.output(items, progress=options.progress)
    binary = cast("BinaryHasher", hasher)  # only methods of binary codes have several_processes = True
    sides = items.queries, items.database
    shares = [replace(rows, ids=rows.ids[group.share(len(rows), WHOLE_BATCHES)], labels=None) for rows in sides]
    blocks = zip(sides, binary.encode_blocks(*shares, progress=options.progress), strict=True)
    query, database = [_gathered(own, len(rows), group) for rows, own in blocks]
    return BinaryOutput(query, database, items, binary.bit_weights)


def _gathered(blocks: list[Codes], n: int, group: ProcessGroup) -> Codes:
    """The codes of all ``n`` items, gathered from the processes; ``blocks`` (maybe none) are this process's share."""
    import torch

    from hashbench.training import distributed

    n_bits = distributed.maximum(blocks[0].n_bits if blocks else 0, group)
    own = concatenated(blocks).words if blocks else np.zeros((0, -(-n_bits // 64)), np.uint64)
    words = distributed.gather(torch.from_numpy(own.view(np.int64)), n, group, WHOLE_BATCHES)
    return Codes(words.numpy().view(np.uint64), n_bits)
