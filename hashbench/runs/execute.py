"""One run, from data to row: open the data, fit or load the hasher, encode, count, score."""

import time
from collections.abc import Callable
from pathlib import Path

from hashbench.contract import Hasher, TrainingFailed
from hashbench.foundation.files import write_text
from hashbench.runs.data import open_data
from hashbench.runs.fit import fit
from hashbench.runs.options import Options
from hashbench.runs.precision import with_fastest_precision
from hashbench.runs.row import Row, Seconds
from hashbench.runs.run import Run
from hashbench.runs.score import failed_row, measured_row, score
from hashbench.runs.several import encode


def execute(run: Run, folder: Path, options: Options, base: Callable[[Options], Hasher] | None = None) -> Row:
    """The row of ``run``, whose steps are all done now; its codes, counts and hasher are written into ``folder``.

    ``base`` returns the hasher that the run starts from. Training that fails gives a failed row.
    """
    write_text(folder / "config.json", run.name.json)
    data = open_data(run, options)
    options = with_fastest_precision(data, folder, options)
    try:
        hasher, train_s = fit(data, folder, options, None if base is None else base(options))
    except TrainingFailed as failure:
        return failed_row(data, str(failure), options)

    fitted = time.perf_counter()
    output = encode(hasher, data.search_items, options.group, progress=options.progress)
    output.save(folder)

    encoded = time.perf_counter()
    evidence = output.count(data.relevance, progress=options.progress)
    evidence.save(folder)
    metrics = score(evidence, data.protocol.metrics)

    score_s = time.perf_counter() - encoded
    seconds = Seconds(train=round(train_s, 3), encode=round(encoded - fitted, 3), score=round(score_s, 3))
    return measured_row(data, evidence, metrics, seconds, options)
