"""What the driver does with the results of nodes, with a cluster that only has them: each row is stored once."""

from contextlib import nullcontext
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from support.fake_rows import row_of_run
from support.limits import file_size_limit
from support.on_digits import on_digits

from hashbench.foundation.execution import Execution
from hashbench.running.jobs import follow, ray
from hashbench.running.runs.guard import row_of
from hashbench.running.runs.row import Row
from hashbench.running.runs.run import Run
from hashbench.running.runs.run_all import Made, Outcome, Plan, run_all
from hashbench.running.runs.store import Store


def lsh(seed: int = 0) -> Run:
    return on_digits("lsh", {"bits": 8}, seed=seed)


class _Nodes:
    """A cluster that has the results already; ``meanwhile`` is called before the driver gets one."""

    exceptions = SimpleNamespace(RayError=OSError)

    def __init__(self, results: dict[str, Made], meanwhile: Any = lambda: None) -> None:
        self.results, self.meanwhile = results, meanwhile
        self.ray, self.n_cores, self.has_gpus = self, 1, False

    def remote(self, *given: Any, **options: object) -> Any:
        return (lambda _: SimpleNamespace(remote=self.remote)) if options else given[0].task.name

    def wait(self, references: list[str], num_returns: int, timeout: float | None) -> tuple[list[str], list[str]]:
        return references[:1], references[1:]

    def get(self, reference: str) -> Made:
        self.meanwhile()
        return self.results[reference]


@pytest.fixture(scope="module")
def row(tmp_path_factory: pytest.TempPathFactory) -> Row:
    return row_of(lsh(), Store(tmp_path_factory.mktemp("row")), Execution(device="cpu"))


def outcomes(nodes: _Nodes, specs: list[Run], store: Store, monkeypatch: pytest.MonkeyPatch) -> list[Outcome]:
    monkeypatch.setattr(ray, "connected", lambda _: nullcontext(nodes))
    monkeypatch.setattr(ray, "_files_of_driver", lambda _: None)
    return list(run_all(specs, store, Execution(device="cpu"), Plan(ray="auto")))


def test_a_row_that_is_there_by_now_stays_with_its_files(
    row: Row, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A second result of the same run, equal or not, changes nothing; that it is another one is said."""
    store = Store(tmp_path)
    spec = lsh()
    codes = store.run_folder(str(spec.name)) / "codes.npz"

    def stored_by_another() -> None:
        if not store.files():
            store.write(row)
            codes.write_bytes(b"of the first")

    meanwhile = f"note: {spec.name}: its row was stored meanwhile"
    for histogram, message in ((row.artefacts["histogram"], ""), ("0" * 64, meanwhile)):
        second = row.model_copy(update={"artefacts": {"histogram": histogram}})
        result = Made(second, {"codes.npz": b"of the second"})
        assert outcomes(_Nodes({str(spec.name): result}, stored_by_another), [spec], store, monkeypatch) == [
            Outcome(spec, row)
        ]
        assert list(store.rows()) == [row]
        assert codes.read_bytes() == b"of the first"
        errors = capsys.readouterr().err
        assert errors.startswith(message) and errors.count("\n") == (message != "")


def test_a_full_disk_of_the_driver_costs_one_run(row: Row, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = Store(tmp_path)
    specs = [lsh(0), lsh(1)]
    large = Made(row, {"codes.npz": bytes(200_000)})
    second = row_of(specs[1], Store(tmp_path / "other"), Execution(device="cpu"))
    small = Made(second, {"codes.npz": b"small"})
    with file_size_limit(100_000):
        ends = outcomes(_Nodes({str(specs[0].name): large, str(specs[1].name): small}), specs, store, monkeypatch)
    full = "codes.npz: cannot be written (File too large): make room or write elsewhere"
    assert [entry.failure for entry in ends] == [f"{store.run_folder(str(specs[0].name))}/{full}", None]
    assert [row.run for row in store.rows()] == [str(specs[1].name)]
    assert not [path for path in store.run_folder(str(specs[0].name)).iterdir() if "codes" in path.name]
    again = outcomes(_Nodes({str(specs[0].name): large}), specs[:1], store, monkeypatch)
    assert [entry.failure for entry in again] == [None] and len(list(store.rows())) == 2


def test_a_base_comes_before_what_starts_from_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Once, although nobody asked for it; where it fails, so do these, and where a run is locked, it waits."""
    monkeypatch.setattr(follow, "POLL_S", 0.05)
    specs = [Run.resolve("cifar100", "sparse_hash", "sparse_th", {"k": k}, budget="smoke") for k in (1, 2)]
    base = specs[0].base
    assert base is not None and specs[1].base == base
    made = {str(spec.name): Made(row_of_run(spec, nmi=0.5), {"hasher.npz": b"x"}) for spec in (base, *specs)}
    store = Store(tmp_path / "ok")
    given = list[str]()
    nodes = _Nodes(made)
    nodes.get = lambda reference: given.append(reference) or made[reference]  # type: ignore[func-returns-value, method-assign]
    assert [entry.failure for entry in outcomes(nodes, specs, store, monkeypatch)] == [None, None]
    assert given == [str(entry.name) for entry in (base, *specs)]
    assert store.find("cifar100", "sparse_hash", str(base.name)) == made[str(base.name)].row
    made[str(base.name)] = Made(row_of_run(base, "failed"), {})
    reason = made[str(base.name)].row.reason
    ends = outcomes(_Nodes(made), specs, Store(tmp_path / "bad"), monkeypatch)
    assert [entry.failure for entry in ends] == [f"{base.name}, which it starts from, failed: {reason}"] * 2
