"""A grid on a Ray cluster of two nodes on this machine: the rows are those of one process, whatever dies."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from support.on_digits import on_digits
from support.one_line import one_line
from support.ray_nodes import Nodes, two_nodes
from support.waiting import lives, until

from hashbench.foundation.execution import Execution
from hashbench.running.runs.guard import row_of
from hashbench.running.runs.run import Run
from hashbench.running.runs.run_all import Plan, run_all
from hashbench.running.runs.store import Store

pytest.importorskip("ray")
pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]


def short() -> list[Run]:
    return [on_digits("talr_ap", {"bits": 8, "epochs": 40}, seed=seed) for seed in range(4)]


def on_ray(specs: list[Run], results: Path, address: str) -> list[str | None]:
    """How each run failed, in the order of ``specs``."""
    outcomes = run_all(specs, Store(results), Execution(device="cpu"), Plan(ray=address))
    result = {str(entry.spec.name): entry.failure for entry in outcomes}
    return [result[str(spec.name)] for spec in specs]


def work(nodes: Nodes) -> list[Path]:
    """The folders of runs that nodes execute now."""
    return list(nodes.folder.glob("*/hashbench-*/results/runs/*/metrics.jsonl"))


@pytest.fixture
def nodes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Nodes]:
    with two_nodes(tmp_path_factory.mktemp("r")) as started:
        yield started


def assert_undisturbed(specs: list[Run], results: Path, alone: Path) -> None:
    """Each run has one row, with the codes that it has alone."""
    assert len(list(Store(results).rows())) == len(specs)
    for spec in specs[:1]:
        row = Store(results).find(spec.name.dataset, spec.name.protocol, str(spec.name))
        ours = row_of(spec, Store(alone), Execution(device="cpu"))
        assert row is not None
        assert row.metrics == ours.metrics
        assert row.artefacts["histogram"] == ours.artefacts["histogram"]


def test_runs_on_two_nodes_are_those_of_one_process(nodes: Nodes, tmp_path: Path) -> None:
    assert on_ray(short(), tmp_path / "grid", nodes.address) == [None] * 4
    assert_undisturbed(short(), tmp_path / "grid", tmp_path / "alone")
    used = [node.name for node in sorted(nodes.folder.glob("*/hashbench-*/results/runs"))]
    assert used  # the nodes worked in folders of their own
    assert not work(nodes)


def test_a_node_that_dies_loses_nothing(nodes: Nodes, tmp_path: Path) -> None:
    from threading import Thread

    def kill_the_other() -> None:
        if until(lambda: list(nodes.folder.glob("other/hashbench-*/results/runs/*")), 200):
            nodes.kill(1)

    thread = Thread(target=kill_the_other)
    thread.start()
    failures = on_ray(short(), tmp_path / "grid", nodes.address)
    thread.join()
    assert not lives(nodes.nodes[1].pid)
    assert failures == [None] * 4
    assert_undisturbed(short(), tmp_path / "grid", tmp_path / "alone")


@pytest.mark.ray
def test_an_address_without_a_cluster_is_one_line(tmp_path: Path) -> None:

    for address, text in (
        ("127.0.0.1:1", "--ray 127.0.0.1:1: no cluster there: "),
        ("local", "--ray local: start hashbench on a node"),
        ("ray://127.0.0.1:1", "--ray ray://127.0.0.1:1: start hashbench on a node of the cluster, with --ray auto"),
    ):
        with one_line() as error:
            on_ray(short(), tmp_path, address)
        assert str(error.value).startswith(text)
