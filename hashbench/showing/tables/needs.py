"""What a table needs: data sets, weights and features, the hours of its runs by device, disk and memory."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from hashbench.learning.training.settings import TrainingSettings
from hashbench.running.runs.command import command_of
from hashbench.running.runs.needs import Need, needs_of
from hashbench.running.runs.past import Past
from hashbench.running.runs.row import IMPORTED, Row
from hashbench.running.runs.run import Run
from hashbench.showing.tables.cell_runs import cell_runs
from hashbench.showing.tables.spec import TableSpec


@dataclass(frozen=True)
class DeviceHours:
    """The hours of so many runs of a table, one after the other, on one kind of device."""

    device: str
    hours: float
    n_runs: int  # of which rows that were made there tell


@dataclass(frozen=True)
class TableNeeds:
    """What the runs of a table need. Bytes are None where neither a card nor a file nor a row states any."""

    runs: Sequence[Run]  # those of the cells, and those that they start from, each once
    inputs: Sequence[Need]
    hours: Sequence[DeviceHours]  # the device of most runs first
    unknown: Sequence[Run]  # no row of any device tells how long they take
    hasher_bytes: int | None  # of the trained hashers of all runs that rows tell about
    n_of_known_size: int  # such runs
    peak_memory: int | None  # of the largest run that rows tell about

    @property
    def input_bytes(self) -> int:
        """The bytes that the inputs take on the disk, without those of unknown size."""
        return sum(need.size_bytes or 0 for need in self.inputs)

    @property
    def speed_command(self) -> str | None:
        """The command that measures the first of the ``unknown`` runs that trains a network; None without any."""
        steps = (run for run in self.unknown if isinstance(run.settings, TrainingSettings))
        first = next(steps, None)
        if first is None:
            return None
        return command_of(first.name, first.name.identity, verb="speed")

    def as_json(self) -> dict[str, Any]:
        """The needs as ``show --json`` prints them."""
        inputs = [
            {
                **{key: getattr(need, key) for key in ("kind", "name", "remedy", "url", "checksum", "size_bytes")},
                **{"here": need.is_here, "by_hand": need.is_by_hand, "automatic": need.is_automatic},
            }
            for need in self.inputs
        ]
        hours = [{"device": on.device, "hours": round(on.hours, 3), "runs": on.n_runs} for on in self.hours]
        return {
            "inputs": inputs,
            "hours": hours,
            "runs_of_unknown_duration": len(self.unknown),
            "speed": self.speed_command,
            "input_bytes": self.input_bytes,
            "hasher_bytes": self.hasher_bytes,
            "runs_of_known_size": self.n_of_known_size,
            "peak_memory": self.peak_memory,
        }


def table_needs(spec: TableSpec, rows: Sequence[Row]) -> TableNeeds:
    """What the table needs, by the stored ``rows`` of any table."""
    runs = _with_bases(run for needed in cell_runs(spec, 1) for run in needed.runs)
    rows_by_device: dict[str, list[Row]] = defaultdict(list)
    for row in rows:
        rows_by_device[device_of(row)].append(row)
    hours: list[DeviceHours] = []
    known: set[str] = set()
    for device, its_rows in rows_by_device.items():
        past = Past.of(its_rows)
        seconds = {str(run.name): past.of_run(run) for run in runs}
        known_seconds = {name: value for name, value in seconds.items() if value is not None}
        known |= known_seconds.keys()
        if known_seconds:
            hours.append(DeviceHours(device, sum(known_seconds.values()) / 3600, len(known_seconds)))
    sizes = _of_runs(runs, rows, lambda row: row.hasher_bytes)
    memory = _of_runs(runs, rows, lambda row: row.peak_memory)
    needs = (need for of_run in needs_of(runs).values() for need in of_run)
    return TableNeeds(
        runs=runs,
        inputs=list(dict.fromkeys(needs)),
        hours=sorted(hours, key=lambda on: (-on.n_runs, on.device)),
        unknown=[run for run in runs if str(run.name) not in known],
        hasher_bytes=round(sum(sizes)) if sizes else None,
        n_of_known_size=len(sizes),
        peak_memory=round(max(memory)) if memory else None,
    )


def _of_runs(runs: Sequence[Run], rows: Sequence[Row], figure: Callable[[Row], float | None]) -> list[float]:
    """The figure of each run that past runs on its data set tell."""
    past = Past.of(rows, figure)
    figures = (past.of_run(run, on_any_data=False) for run in runs)
    return [value for value in figures if value is not None]


def _with_bases(runs: Iterable[Run]) -> list[Run]:
    """The runs, each after the one that it starts from; without codes that were made elsewhere."""
    runs_by_name: dict[str, Run] = {}
    for run in runs:
        if run.base is not None:
            runs_by_name.setdefault(str(run.base.name), run.base)
        if run.name.budget != IMPORTED:
            runs_by_name.setdefault(str(run.name), run)
    return list(runs_by_name.values())


def device_of(row: Row) -> str:
    """The GPU of a row, or the processor with the number of its cores: what its seconds were measured on."""
    hardware = row.hardware
    if hardware.get("gpu") is not None:
        return str(hardware["gpu"])
    return f"{hardware.get('cores')} cores of {hardware.get('cpu')}"
