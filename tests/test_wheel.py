"""The wheel carries the cards and the experiment files, and finds them away from the checkout."""

import os
import subprocess
import sys
import zipfile
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parent.parent

CODE = """
import hashbench, numpy
from sklearn.datasets import load_wine
assert hashbench.__file__.startswith(site), hashbench.__file__
from hashbench.runs.run import Run
chosen = Run.resolve('digits', 's1', 'talr-ap', {'bits': 12}).settings
assert (chosen.model, chosen.batch_size) == ('mlp', 100), chosen
from hashbench.cli._app import main

def call(*arguments):
    try:
        main(list(arguments))
    except SystemExit as done:
        assert done.code == 0, (arguments, done.code)

call('list', 'tables')
call('list', 'datasets')
from hashbench.report.page import SCRIPT, STYLE
assert 'use strict' in SCRIPT and 'color-scheme' in STYLE
numpy.savez('wine.npz', items=load_wine().data, labels=load_wine().target)
call('dataset', 'add', 'wine', 'wine.npz')
call('train', 'itq', 'wine', '--protocol', 'own', '--bits', '8')
call('encode', 'wine-own-itq', '--out', 'codes.npz')
call('eval', 'codes.npz')
"""


def test_an_installed_package_finds_its_cards_and_experiments(tmp_path: Path) -> None:
    build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(tmp_path)]
    subprocess.run(build, cwd=REPOSITORY, check=True, capture_output=True, timeout=120)
    wheel = next(tmp_path.glob("*.whl"))
    site = tmp_path / "site"
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
        archive.extractall(site)  # our own archive, built a moment ago
    assert {"hashbench/py.typed", "hashbench/report/page.css", "hashbench/report/page.js"} <= names
    assert "hashbench/_data/experiments/recipes/mlp_digits.toml" in names
    for folder in ("datasets", "experiments"):
        for path in (REPOSITORY / folder).rglob("*.toml"):
            assert f"hashbench/_data/{path.relative_to(REPOSITORY)}" in names
    for folder in ("datasets", "experiments/methods"):  # another project that happens to have these folders
        (tmp_path / "away" / folder).mkdir(parents=True)
    (tmp_path / "away" / "datasets" / "other.toml").write_text("broken = [")
    environment = {key: value for key, value in os.environ.items() if not key.startswith("HASHBENCH_")}
    environment |= {"HASHBENCH_DATA": str(tmp_path / "data"), "OMP_NUM_THREADS": "1"}
    code = f"import sys; sys.path.insert(0, {str(site)!r}); site = {str(site)!r}\n{CODE}"
    done = subprocess.run(
        [sys.executable, "-c", code],
        check=False,
        cwd=tmp_path / "away",
        env=environment,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert "talr_table1" in done.stdout
    assert "12 queries, 166 items, 8 bits" in done.stdout
    assert (tmp_path / "away" / "results" / "rows" / "wine-own.jsonl").is_file()
