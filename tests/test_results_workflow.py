"""The workflow that verifies contributed bundles: its commands are run on a pull request that a test makes."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from support.bundles import changed, row_changed
from support.on_digits import on_digits

from hashbench.running.runs.guard import row_of
from hashbench.running.runs.store import Store
from hashbench.showing.bundle.pack import Order, pack

ROOT = Path(__file__).resolve().parents[1]
WORKFLOW: dict[Any, Any] = yaml.safe_load((ROOT / ".github" / "workflows" / "results.yml").read_text())
STEPS: list[dict[str, Any]] = WORKFLOW["jobs"]["verify"]["steps"]
INCOMING = "results/bundles/incoming"
ROWS = "results/rows/digits-s1.jsonl"


@pytest.fixture
def bundle(tmp_path: Path) -> Path:
    """The bundle of one run on the digits."""
    store = Store(tmp_path / "theirs")
    row_of(on_digits("lsh", {"bits": 12}), store)
    pack(Order("digits", maker="Ada"), tmp_path / "theirs.zip", store, pytest.fail)
    return tmp_path / "theirs.zip"


def git(folder: Path, *arguments: object) -> None:
    identity = ["-c", "user.name=a", "-c", "user.email=a@b", "-c", "commit.gpgsign=false"]
    command = ["git", "-C", str(folder), *identity, *map(str, arguments)]
    subprocess.run(command, check=True, capture_output=True)


def checkout(tmp_path: Path, bundle: Path) -> Path:
    """A clone of a repository without bundles, whose pull request 7 has one, and a program of its own."""
    origin = tmp_path / "origin"
    clone = tmp_path / "clone"
    origin.mkdir()
    git(origin, "init", "-q", "-b", "main")
    (origin / INCOMING).mkdir(parents=True)
    (origin / INCOMING / "README.md").write_text("waiting\n")
    (origin / "Makefile").write_text("install:\n\t@echo ours\n")
    git(origin, "add", "-A")
    git(origin, "commit", "-qm", "base")
    git(origin, "checkout", "-q", "-b", "theirs")
    (origin / INCOMING / "digits").mkdir()
    (origin / INCOMING / "digits" / "theirs.zip").write_bytes(bundle.read_bytes())
    (origin / "Makefile").write_text("install:\n\t@echo theirs > evil\n")
    git(origin, "add", "-A")
    git(origin, "commit", "-qm", "rows")
    git(origin, "update-ref", "refs/pull/7/head", "HEAD")
    git(origin, "checkout", "-q", "main")
    git(tmp_path, "clone", "-q", origin, clone)
    return clone


def run_steps(tmp_path: Path, clone: Path) -> list[int]:
    """The exit codes of the steps' commands; ``gh`` notes its arguments and its input."""
    programs = tmp_path / "programs"
    programs.mkdir()
    scripts = {
        "hashbench": f'exec "{sys.executable}" -m hashbench "$@"',
        "gh": f'echo "$@" > "{tmp_path}/gh"; cat > "{tmp_path}/comment"',
    }
    for name, script in scripts.items():
        (programs / name).write_text(f"#!/bin/sh\n{script}\n")
        (programs / name).chmod(0o755)
    results = {"HASHBENCH_RESULTS": str(tmp_path / "ours"), "HASHBENCH_ROOT": str(ROOT), "PYTHONPATH": str(ROOT)}
    path = {"PATH": f"{programs}:{os.environ['PATH']}"}
    environment = {**os.environ, **results, **path, "BIN": str(programs), "NUMBER": "7"}
    commands = [step["run"] for step in STEPS if "run" in step]
    done = [subprocess.run(["bash", "-e", "-c", each], cwd=clone, env=environment, check=False) for each in commands]
    return [each.returncode for each in done]


def test_a_good_bundle_is_commented_with_what_is_merged(tmp_path: Path, bundle: Path) -> None:
    assert run_steps(tmp_path, clone := checkout(tmp_path, bundle)) == [0] * 5
    assert (tmp_path / "gh").read_text() == "pr comment 7 --body-file -\n"
    comment = (tmp_path / "comment").read_text()
    assert comment.splitlines()[-2].endswith(": 1 row would be merged (--dry-run)")
    assert comment.splitlines()[-1] == "      1 copied"
    assert not (clone / "evil").exists() and not (tmp_path / "ours" / "rows").exists()


def test_a_tampered_bundle_fails_and_the_comment_says_why(tmp_path: Path, bundle: Path) -> None:
    run = str(on_digits("lsh", {"bits": 12}).name)
    edit = row_changed(lambda row: row["searches"]["database"]["ap"].update(mean=0.99), run)
    bad = changed(bundle, tmp_path / "bad.zip", {ROWS: edit}, listed=True)
    assert run_steps(tmp_path, checkout(tmp_path, bad)) == [0, 0, 0, 1, 0]
    comment = (tmp_path / "comment").read_text()
    assert "    left out: " in comment and "database.ap.mean is 0.99, more than that of ap_best, " in comment


def test_a_request_without_bundles_is_not_commented(tmp_path: Path, bundle: Path) -> None:
    clone = checkout(tmp_path, bundle)
    origin = tmp_path / "origin"
    git(origin, "update-ref", "refs/pull/7/head", "main")
    assert run_steps(tmp_path, clone) == [0] * 5
    assert not (tmp_path / "gh").exists()


def test_nothing_of_a_pull_request_is_executed_and_no_text_of_it_is_part_of_a_command() -> None:
    """The job has a token: it checks out the base, and an expression inside a command would be its text."""
    (trigger,) = WORKFLOW[True]  # what YAML 1.1 makes of the word on
    assert trigger == "pull_request_target"
    assert WORKFLOW["permissions"] == {"contents": "read", "pull-requests": "write"}
    assert [step["uses"] for step in STEPS if "uses" in step] == ["actions/checkout@v4"]
    assert all("with" not in step and "${{" not in step.get("run", "") for step in STEPS)
    assert "install:" in (ROOT / "Makefile").read_text()
