"""What the driver does with the results of nodes, with a cluster that only has them: each row is stored once."""

from contextlib import ExitStack
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from support.limits import file_size_limit

from hashbench.grid.execute import Execution
from hashbench.grid.on_ray import Cluster, _Grid
from hashbench.grid.outcome import Outcome
from hashbench.grid.ray_task import Result, Task
from hashbench.runs.guard import row_of
from hashbench.runs.options import Options
from hashbench.runs.run import Run
from hashbench.runs.store import Row, Store


def lsh(seed: int = 0) -> Run:
    return Run.resolve("digits", "s1", "lsh", {"bits": 8}, seed=seed)


class _Nodes:
    """A cluster that has the results already; ``meanwhile`` is called before the driver gets one."""

    exceptions = SimpleNamespace(RayError=OSError)

    def __init__(self, results: dict[str, Result], meanwhile: Any = lambda: None) -> None:
        self.results, self.meanwhile = results, meanwhile

    def remote(self, task: Task, files: object, cores: int) -> str:
        return task.spec.run

    def wait(self, references: list[str], num_returns: int, timeout: float | None) -> tuple[list[str], list[str]]:
        return references[:1], references[1:]

    def get(self, reference: str) -> Result:
        self.meanwhile()
        return self.results[reference]


@pytest.fixture(scope="module")
def row(tmp_path_factory: pytest.TempPathFactory) -> Row:
    return row_of(lsh(), Store(tmp_path_factory.mktemp("row")), Options(device="cpu"))


def outcomes(nodes: _Nodes, specs: list[Run], store: Store) -> list[Outcome]:
    with ExitStack() as locks:
        how = Execution(store, Options(device="cpu"))
        return list(_Grid(nodes, how, Cluster("auto"), locks, nodes, None).outcomes(specs))


def test_a_row_that_is_there_by_now_stays_with_its_files(
    row: Row, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A second result of the same run, equal or not, changes nothing; that it is another one is said."""
    store, spec = Store(tmp_path), lsh()
    codes = store.run_folder(spec.run) / "codes.npz"

    def stored_by_another() -> None:
        if not store.paths():
            store.write(row)
            codes.write_bytes(b"of the first")

    for histogram, said in ((row.histogram_sha256, ""), ("0" * 64, f"note: {spec.run}: its row was stored meanwhile")):
        second = row.model_copy(update={"histogram_sha256": histogram})
        result = Result(Outcome(spec, second), {"codes.npz": b"of the second"})
        assert outcomes(_Nodes({spec.run: result}, stored_by_another), [spec], store) == [Outcome(spec, row)]
        assert [store.find("digits", "s1", path.stem) for path in store.paths()] == [row]
        assert codes.read_bytes() == b"of the first"
        errors = capsys.readouterr().err
        assert errors.startswith(said) and errors.count("\n") == (said != "")


def test_a_full_disk_of_the_driver_costs_one_run(row: Row, tmp_path: Path) -> None:
    store, specs = Store(tmp_path), [lsh(0), lsh(1)]
    large = Result(Outcome(specs[0], row), {"codes.npz": bytes(200_000)})
    second = row_of(specs[1], Store(tmp_path / "other"), Options(device="cpu"))
    small = Result(Outcome(specs[1], second), {"codes.npz": b"small"})
    with file_size_limit(100_000):
        found = outcomes(_Nodes({specs[0].run: large, specs[1].run: small}), specs, store)
    full = "codes.npz: cannot be written (File too large): make room or write elsewhere"
    assert [each.failure for each in found] == [f"{store.run_folder(specs[0].run)}/{full}", None]
    assert [path.stem for path in store.paths()] == [specs[1].run]
    assert not [path for path in store.run_folder(specs[0].run).iterdir() if "codes" in path.name]
    again = outcomes(_Nodes({specs[0].run: large}), specs[:1], store)
    assert [each.failure for each in again] == [None] and len(store.paths()) == 2
