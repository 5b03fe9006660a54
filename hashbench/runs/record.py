"""The row of a run: what was measured, by which code, on which machine, in how many seconds."""

from typing import Any

from hashbench.hasher import Counts, Evidence
from hashbench.methods import METHODS
from hashbench.runs import provenance
from hashbench.runs.data import RunData
from hashbench.runs.options import Options
from hashbench.runs.score import row_metrics
from hashbench.runs.store import SCHEMA, Arithmetic, Row, Seconds


def measured_row(data: RunData, evidence: Evidence, seconds: Seconds, options: Options) -> Row:
    """The row of a run that was scored by ``evidence``."""
    return Row(
        metrics=row_metrics(evidence.database),
        metrics_of_test=row_metrics(evidence.test),
        seconds=seconds,
        histogram_sha256=_sha256(evidence.database.get("histogram")),
        retrieval_sha256=_sha256(evidence.database.get("retrieval")),
        retrieval_of_test_sha256=_sha256(evidence.test.get("retrieval")),
        status="ok",
        **_identity(data, options),
    )


def failed_row(data: RunData, reason: str, options: Options) -> Row:
    """The row of a run that training gave up on."""
    return Row(
        metrics={}, histogram_sha256=None, seconds=None, status="failed", reason=reason, **_identity(data, options)
    )


def _sha256(counts: Counts | None) -> str | None:
    return None if counts is None else counts.sha256()


def _identity(data: RunData, options: Options) -> dict[str, Any]:
    spec, device = data.spec, _device(data, options)
    return {
        "schema": SCHEMA,
        "run": spec.run,
        "dataset": spec.dataset,
        "protocol": spec.protocol,
        "method": spec.method,
        "settings": spec.identity,
        "budget": spec.budget,
        "seed": spec.seed,
        "config": spec.config,
        "config_hash": spec.config_hash,
        "cell_hash": spec.cell_hash,
        "data_sha256": data.dataset.sha256,
        "ids_sha256": data.ids.sha256,
        "features_sha256": data.features_sha256,
        "code": provenance.code(),
        "versions": provenance.versions(),
        "hardware": provenance.hardware(device),
        "utc": provenance.utc(),
        "arithmetic": _arithmetic(data, options, device),
    }


def _device(data: RunData, options: Options) -> str:
    if not METHODS.get(data.spec.method).needs_torch:
        return "cpu"
    from hashbench.training.hasher import pick_device

    return str(pick_device(options.device))


def _arithmetic(data: RunData, options: Options, device: str) -> Arithmetic | None:
    compute = options.compute
    precision = data.spec.settings.precision_on(device, compute)
    if precision is None:
        return None
    return Arithmetic(
        precision=precision,
        compiled=compute.compiled,
        channels_last=compute.channels_last,
        processes=options.group.size,
    )
