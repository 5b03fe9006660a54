"""Packed states: a run that goes on elsewhere is the undisturbed run, and what is damaged or hostile is one line."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from support.command_line import CommandLine
from support.on_digits import on_digits

from hashbench.foundation.config import canonical_json, digest
from hashbench.foundation.execution import Execution
from hashbench.learning.contract import TimeIsOver
from hashbench.learning.training import checkpoint
from hashbench.running.runs.guard import row_of
from hashbench.running.runs.run import Run
from hashbench.running.runs.store import Store
from hashbench.showing.bundle import state

ROUNDS = {"model": "mlp", "augment": "none", "augment_per": "item", "epochs": 2, "steps_per_epoch": 4, "batch_size": 10}
ROUNDS |= {"classes_per_batch": 5}
SPARSE = {**ROUNDS, "d": 8, **{f"base.{key}": value for key, value in ROUNDS.items() if key != "model"}}
PART_BYTES = 20_000
SLICE = Execution(device="cpu", stop_at=0.0)  # its time is over after one epoch


@pytest.fixture
def run() -> Run:
    return on_digits("sparse_hash", SPARSE)


def stopped(run: Run, store: Store) -> bool:
    """Whether a slice of the run ended before its row."""
    try:
        row_of(run, store, SLICE)
    except TimeIsOver:
        return True
    return False


def packed(run: Run, tmp_path: Path, n_slices: int = 1) -> Path:
    """The packed state after so many slices."""
    store = Store(tmp_path / "elsewhere")
    folder = tmp_path / "state"
    for _ in range(n_slices):
        stopped(run, store)
    state.pack(store, [], folder, PART_BYTES)
    return folder


def contents(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def unlocked(folder: Path) -> dict[str, bytes]:
    """Without the files of the lock."""
    return {name: content for name, content in contents(folder).items() if "lock" not in name}


def refused(folder: Path, tmp_path: Path, hashbench: CommandLine) -> str:
    """The one line that refuses the state; nothing is written."""
    results = tmp_path / "results"
    before = contents(results)
    code, out, err = hashbench("--results", results, "results merge", folder)
    assert (code, out, err.count("\n")) == (2, "", 1), err
    assert contents(results) == before
    return err


def test_a_run_that_changes_machines_after_each_slice_is_the_undisturbed_one(
    run: Run, tmp_path: Path, hashbench: CommandLine
) -> None:
    undisturbed = row_of(run, Store(tmp_path / "undisturbed"), Execution(device="cpu"))
    machines = [tmp_path / "one", tmp_path / "two"]
    at = 0
    while stopped(run, Store(machines[at % 2])):
        here = machines[at % 2]
        there = machines[(at + 1) % 2]
        out = tmp_path / "state"
        code, printed, _ = hashbench("--results", here, "results pack-state --out", out, "--part-size", 0.02)
        assert code == 0 and "unfinished" in printed
        assert max(path.stat().st_size for path in out.glob("part-*")) <= 20_000
        hashbench.done("--results", there, "results merge", out)
        at += 1
    assert at == 2  # an epoch of the base; the second, and one of the run; the last
    names = (run.name.dataset, run.name.protocol, str(run.name))
    row = Store(machines[at % 2]).find(*names)
    assert row is not None
    assert row.searches == undisturbed.searches
    assert row.artefacts == undisturbed.artefacts
    packed = hashbench("--results", machines[at % 2], "results pack-state", run.name.dataset, "--out", out)
    assert packed[1].startswith("2 runs packed, 0 of them unfinished: ")
    printed = hashbench.printed("--results", tmp_path / "home", "results merge", out)
    assert printed.splitlines()[1:] == ["  2 copied", "  the working state of 2 runs taken up"]
    assert Store(tmp_path / "home").find(*names) == row
    for machine in machines:
        hashbench("--results", machine, "results merge", out)
        assert not list(machine.glob("runs/*/checkpoint*.pt")), "a finished run keeps none"
    assert {path.name for path in (tmp_path / "home" / "runs" / str(run.name)).iterdir()} >= {
        "codes.npz",
        "hasher.json",
    }


def test_the_state_that_came_further_stays(run: Run, tmp_path: Path, hashbench: CommandLine) -> None:
    folder = packed(run, tmp_path)
    further = tmp_path / "results"
    assert stopped(run, Store(further)) and stopped(run, Store(further))
    before = unlocked(further / "runs")
    assert "of 2 as much or more is here" in hashbench("--results", further, "results merge", folder).out
    assert unlocked(further / "runs") == before


def test_a_damaged_checkpoint_is_replaced(run: Run, tmp_path: Path, hashbench: CommandLine) -> None:
    folder = packed(run, tmp_path)
    own = Store(tmp_path / "results")
    stopped(run, own)
    (path,) = own.folder.glob("runs/*/checkpoint*.pt")
    path.write_bytes(path.read_bytes()[:100])
    for dry_run in (["--dry-run"], []):
        printed = hashbench("results merge", folder, *dry_run).out
        assert "  the working state of 1 run taken up; of 1 as much or more is here" in printed
    assert row_of(run, own, Execution(device="cpu")).status == "ok"


def test_every_flipped_byte_is_refused(run: Run, tmp_path: Path, hashbench: CommandLine) -> None:
    folder = packed(run, tmp_path)
    text = (folder / state.STATE).read_bytes()
    places = [(path, at) for path in folder.glob("part-*") for at in (0, path.stat().st_size // 2)]
    places += [(folder / state.STATE, at) for at in range(0, len(text), 97)]
    for path, at in places:
        content = path.read_bytes()
        path.write_bytes(content[:at] + bytes([content[at] ^ 1]) + content[at + 1 :])
        assert str(folder) in refused(folder, tmp_path, hashbench)
        path.write_bytes(content)
    hashbench.done("--results", tmp_path / "results", "results merge", folder)


def test_missing_and_mixed_parts_are_one_line(run: Run, tmp_path: Path, hashbench: CommandLine) -> None:
    folder = packed(run, tmp_path)
    other = tmp_path / "other"
    shutil.copytree(folder, other)
    stopped(run, Store(tmp_path / "elsewhere"))
    state.pack(Store(tmp_path / "elsewhere"), [], folder, PART_BYTES)
    mixed = tmp_path / "mixed"
    shutil.copytree(other, mixed)
    shutil.copy(folder / state.STATE, mixed)
    assert "missing, or of another state: copy all of them" in refused(mixed, tmp_path, hashbench)
    (part, *_) = sorted(other.glob("part-*"))
    part.write_bytes(part.read_bytes()[:-1])
    assert f"{part}: damaged: " in refused(other, tmp_path, hashbench)
    part.unlink()
    assert f"{part}: 1 part of " in refused(other, tmp_path, hashbench)
    (other / state.STATE).unlink()
    assert "state.json: missing: the state was not packed to its end" in refused(other, tmp_path, hashbench)


def test_a_packing_that_is_killed_leaves_the_state_before(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = packed(run, tmp_path)
    store = Store(tmp_path / "elsewhere")
    with state.results_in(folder) as results:
        before = contents(results)
    stopped(run, store)
    write = state.write_bytes
    written = list[Path]()

    def write_or_die(path: Path, content: bytes) -> None:
        if len(written) == 2:
            raise KeyboardInterrupt
        written.append(path)
        write(path, content)

    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(state, "write_bytes", write_or_die)
        state.pack(store, [], folder, PART_BYTES)
    with state.results_in(folder) as results:
        assert contents(results) == before
    state.pack(store, [], folder, PART_BYTES)
    with state.results_in(folder) as results:
        assert contents(results) != before
    listed = json.loads((folder / state.STATE).read_text())["parts"]
    assert len(list(folder.glob("part-*"))) == len(listed), "what is of no use is removed"


def signed(folder: Path, change: Callable[[dict[str, Any]], object]) -> None:
    """Changes state.json as somebody would who knows how it is signed."""
    path = folder / state.STATE
    values = json.loads(path.read_text())
    change(values)
    del values["sha256"]
    path.write_text(canonical_json({**values, "sha256": digest(values)}))


OTHER = "digits-s1-lsh-8b-s0-57455fb2d7"
HOSTILE = {
    "climbs": lambda v: v["files"][0].update(name="runs/../../../x"),
    "climbs in a name": lambda v: v["files"][0].update(name="runs/r/../x"),
    "absolute": lambda v: v["files"][0].update(name="/etc/passwd"),
    "hidden": lambda v: v["files"][0].update(name="runs/r/.profile"),
    "elsewhere": lambda v: v["files"][0].update(name="evidence/x.npz"),
    "twice": lambda v: v["files"].append(dict(v["files"][0])),
    "in other letters": lambda v: v["files"][1].update(name=v["files"][0]["name"].upper().replace("RUNS/", "runs/")),
    "a bomb": lambda v: v["files"][0].update(n_bytes=1 << 50),
    "parts of no bytes": lambda v: v["parts"][0].update(n_bytes=1 << 50),
    "a negative size": lambda v: v["files"][0].update(n_bytes=-1),
    "of another run": lambda v: [f.update(name=f"runs/{OTHER}/" + f["name"].split("/")[2]) for f in v["files"]],
    "other code": lambda v: v.update(sources="0" * 64),
    "another schema": lambda v: v.update(schema=2),
    "an unknown key": lambda v: v.update(more=1),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_what_no_packing_makes_is_refused(name: str, run: Run, tmp_path: Path, hashbench: CommandLine) -> None:
    folder = packed(run, tmp_path)
    signed(folder, HOSTILE[name])
    refused(folder, tmp_path, hashbench)


def test_a_run_that_a_process_executes_is_neither_packed_nor_taken_up(
    run: Run, tmp_path: Path, hashbench: CommandLine
) -> None:
    folder = packed(run, tmp_path)
    store = Store(tmp_path / "results")
    for busy in (store, Store(tmp_path / "elsewhere")):
        with busy.run_lock(str(run.name), wait=False):
            if busy is store:
                code, _, err = hashbench("--results", busy.folder, "results merge", folder)
            else:
                code, _, err = hashbench("--results", busy.folder, "results pack-state --out", folder)
            assert code == 2 and err.endswith("works in this folder: wait for it\n") and err.count("\n") == 1
    assert not list(store.folder.glob(f"runs/*/{checkpoint.FILE}"))


def test_a_folder_of_something_else_is_not_packed_into(run: Run, tmp_path: Path, hashbench: CommandLine) -> None:
    stopped(run, Store(tmp_path / "results"))
    mine = tmp_path / "mine"
    mine.mkdir()
    (mine / "thesis.tex").write_text("")
    err = hashbench.refused("results pack-state --out", mine)
    assert err == f"{mine}: holds thesis.tex, which is no packed state: name another folder"
    assert "begins with 'cifar'" in hashbench.refused("results pack-state cifar --out", tmp_path / "new")
    err = hashbench.refused("--results", tmp_path / "none", "results pack-state --out", tmp_path / "new")
    assert "no working state of a run: hashbench run TABLE makes it" in err


def test_a_folder_that_nobody_knows_is_left_out(run: Run, tmp_path: Path, hashbench: CommandLine) -> None:
    results = tmp_path / "results"
    stopped(run, Store(results))
    stale = results / "runs" / OTHER
    stale.mkdir()
    (stale / "config.json").write_text("{")
    code, out, err = hashbench("results pack-state --out", tmp_path / "state")
    assert code == 0
    assert err.count("\n") == 1
    assert err.startswith(f"left out: {OTHER}: config.json: damaged: ")
    assert out.startswith("2 runs packed, 2 of them unfinished: ")
