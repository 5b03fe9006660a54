"""The wheel carries the cards and the experiment files, and finds them away from the checkout."""

import os
import subprocess
import sys
import zipfile
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parent.parent


def test_an_installed_package_finds_its_cards_and_experiments(tmp_path: Path) -> None:
    build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(tmp_path)]
    subprocess.run(build, cwd=REPOSITORY, check=True, capture_output=True, timeout=120)
    wheel = next(tmp_path.glob("*.whl"))
    site = tmp_path / "site"
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
        archive.extractall(site)  # our own archive, built a moment ago
    assert "hashbench/py.typed" in names
    assert "hashbench/_data/experiments/recipes/mlp_digits.toml" in names
    for folder in ("datasets", "experiments"):
        for path in (REPOSITORY / folder).rglob("*.toml"):
            assert f"hashbench/_data/{path.relative_to(REPOSITORY)}" in names
    away = tmp_path / "away"
    away.mkdir()
    environment = {key: value for key, value in os.environ.items() if not key.startswith("HASHBENCH_")}
    code = (
        f"import sys; sys.path.insert(0, {str(site)!r})\n"
        "import hashbench; from hashbench import paths\n"
        f"assert hashbench.__file__.startswith({str(site)!r}), hashbench.__file__\n"
        "from hashbench.runs.spec import resolve\n"
        "chosen = resolve('digits', 's1', 'talr-ap', {'bits': 12}).settings\n"
        "assert (chosen.model, chosen.batch_size) == ('mlp', 100), chosen\n"
        "from hashbench.cli._app import main\nmain(['list', 'tables'])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=away, env=environment, capture_output=True, text=True, check=True, timeout=60
    )
    assert "talr_table1" in done.stdout
