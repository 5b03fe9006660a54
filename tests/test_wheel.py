"""The wheel carries the cards and the experiment files, and finds them away from the checkout."""

import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parent.parent

STORIES = REPOSITORY / "tests" / "stories.py"
CODE = """
import hashbench
from hashbench.running.runs.run import Run
chosen = Run.resolve('digits', 's1', 'talr-ap', {'bits': 12}).settings
assert (chosen.model, chosen.batch_size) == ('mlp', 100), chosen
from hashbench.showing.report.page import SCRIPT, STYLE
assert 'use strict' in SCRIPT and 'color-scheme' in STYLE
from hashbench.cli._app import main
main(['list', 'tables'])
"""


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)]
    subprocess.run(build, cwd=REPOSITORY, check=True, capture_output=True, timeout=120)
    return next(folder.glob("*.whl"))


def of_wheel(wheel: Path, away: Path, *arguments: str) -> str:
    """What Python prints with the package of the ``wheel``, in the folder ``away``."""
    site = wheel.with_name("site")
    if not site.is_dir():
        with zipfile.ZipFile(wheel) as archive:
            archive.extractall(site)  # our own archive, built a moment ago
    environment = {key: value for key, value in os.environ.items() if not key.startswith("HASHBENCH_")}
    environment |= {"HASHBENCH_DATA": str(away / "data"), "OMP_NUM_THREADS": "1", "PYTHONPATH": str(site)}
    done = subprocess.run(
        [sys.executable, *arguments],
        check=False,
        cwd=away,
        env=environment,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_an_installed_package_finds_its_cards_and_experiments(wheel: Path, tmp_path: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
    assert {"hashbench/py.typed", "hashbench/showing/report/page.css", "hashbench/showing/report/page.js"} <= names
    assert "hashbench/_data/experiments/recipes/mlp_digits.toml" in names
    for folder in ("datasets", "experiments"):
        for path in (REPOSITORY / folder).rglob("*.toml"):
            assert f"hashbench/_data/{path.relative_to(REPOSITORY)}" in names
    for folder in ("datasets", "experiments/methods"):  # another project that happens to have these folders
        (tmp_path / folder).mkdir(parents=True)
    (tmp_path / "datasets" / "other.toml").write_text("broken = [")
    assert "talr_table1" in of_wheel(wheel, tmp_path, "-c", CODE)
    printed = of_wheel(wheel, tmp_path, str(STORIES), "own_features")
    assert f"hashbench of {wheel.with_name('site')}" in printed
    assert (tmp_path / "results" / "rows" / "wine-own.jsonl").is_file()


@pytest.mark.slow
def test_all_stories_work_from_a_wheel_in_an_empty_folder(wheel: Path, tmp_path: Path) -> None:
    printed = of_wheel(wheel, tmp_path, str(STORIES))
    assert printed.count("\n# ") == 12
