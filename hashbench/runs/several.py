"""One run by several processes: each does its share of the work, and only the first one writes files and prints."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import cast

import numpy as np

from hashbench.codes import Codes
from hashbench.contract import WHOLE_BATCHES, BinaryHasher, BinaryOutput, Hasher, Output, SearchItems, concatenated
from hashbench.foundation.errors import HashbenchError
from hashbench.foundation.parallel import ProcessGroup
from hashbench.runs.options import Options
from hashbench.runs.run import Run


@contextmanager
def process_group(spec: Run, options: Options) -> Iterator[Options]:
    """The options with this process's own device; the processes are connected during the block."""
    if options.group.is_alone:
        yield options
        return
    if not spec.method.several_processes:
        raise HashbenchError(f"{spec.name.method} trains in one process: without torchrun")
    if spec.base is not None:
        raise HashbenchError(f"{spec.name.method} starts from {spec.base.name}, in one process: without torchrun")
    from hashbench.training import distributed

    own = replace(options, device=distributed.device_for(options.group, options.device))
    with distributed.connected(own.group, own.device):
        yield own


def is_needed(group: ProcessGroup, *, answer: bool) -> bool:
    """Whether the run has to be executed: the ``answer`` of the first process, in all processes."""
    if group.is_alone:
        return answer
    from hashbench.training import distributed

    return distributed.broadcast_from_first(answer, group)


def encode(hasher: Hasher, data: SearchItems, group: ProcessGroup, *, progress: bool) -> Output:
    """The output of ``hasher``: each process encodes its share, and every process returns all codes."""
    if group.is_alone:
        return hasher.output(data, progress=progress)
    shares = (rows[group.share(len(rows), WHOLE_BATCHES)] for rows in (data.queries, data.database))
    # only methods of binary codes have several_processes = True
    query, database = cast("BinaryHasher", hasher).encode_blocks(SearchItems(data.dataset, *shares), progress=progress)
    return BinaryOutput(
        _gather_codes(query, len(data.queries), group),
        _gather_codes(database, len(data.database), group),
        data,
        cast("BinaryHasher", hasher).bit_weights,
    )


def _gather_codes(blocks: list[Codes], n: int, group: ProcessGroup) -> Codes:
    """The codes of all ``n`` items, gathered from the processes; ``blocks`` (maybe none) are this process's share."""
    import torch

    from hashbench.training import distributed

    n_bits = distributed.maximum(blocks[0].n_bits if blocks else 0, group)
    own = concatenated(blocks).words if blocks else np.zeros((0, -(-n_bits // 64)), np.uint64)
    words = distributed.gather(torch.from_numpy(own.view(np.int64)), n, group, WHOLE_BATCHES)
    return Codes(words.numpy().view(np.uint64), n_bits)
