"""Who may know whom, and what may not be imported before it is needed."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

PACKAGE = Path(__file__).resolve().parent.parent / "hashbench"

# A module may import modules of its own floor and of those below.
FLOORS = [
    {"errors", "registry", "config", "paths", "files", "processes", "seeding", ""},
    {
        "codes",
        "affinity",
        "affinity_distance",
        "distance_ranks",
        "histogram",
        "histogram_numba",
        "histogram_torch",
        "hasher",
    }
    | {
        "histogram_triton",
        "saved_codes",
        "ties",
        "ranking",
        "curves",
        "buckets",
        "diagnostics",
        "neighbours",
        "retrieval",
        "trec",
    },
    {"losses", "models", "sparse", "training"},
    {"methods", "datasets", "metrics", "conventions", "features"},
    {"experiment", "encoded", "measure", "results", "provenance", "retrieved", "scores", "scoring"},
    {"grid", "tables", "figures", "report"},
    {"cli", "__main__", "__init__"},  # the package's own front door opens what is asked for, and nothing before
]
FLOOR_OF = {room: floor for floor, rooms in enumerate(FLOORS) for room in rooms}
HEAVY = {"torch", "torchvision", "sklearn", "scipy", "pandas", "matplotlib", "ortools"}


def room(module: str) -> str:
    return module.split(".")[1] if "." in module else ""


def imports(tree: ast.AST) -> set[str]:
    found: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found |= {
                f"{node.module}.{alias.name}" if node.module == "hashbench" else node.module for alias in node.names
            }
    return {name for name in found if name.split(".")[0] == "hashbench"}


FILES = sorted(PACKAGE.rglob("*.py"))


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_nothing_imports_upward(path: Path) -> None:
    own = path.relative_to(PACKAGE).with_suffix("").parts[0]
    assert own in FLOOR_OF, f"{own} has no floor: say in this test where it belongs"
    for name in imports(ast.parse(path.read_text())):
        target = room(name) if room(name) in FLOOR_OF else ""
        assert FLOOR_OF[target] <= FLOOR_OF[own], f"{path.name} imports {name}, which is upstairs"


def loaded_by(statement: str) -> set[str]:
    code = f"import sys\n{statement}\nprint(*sorted({{name.split('.')[0] for name in sys.modules}}))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)
    return set(done.stdout.splitlines()[-1].split())


def test_help_imports_nothing_heavy() -> None:
    statement = "from hashbench.cli._app import main\ntry:\n    main(['--help'])\nexcept SystemExit:\n    pass"
    assert not loaded_by(statement) & (HEAVY | {"numpy", "numba", "pydantic", "h5py"})


def test_naming_an_experiment_imports_no_torch() -> None:
    statement = "from hashbench import experiment\nexperiment.resolve('digits', 's1', 'talr-ap', {'bits': 12})"
    assert not loaded_by(statement) & HEAVY


@pytest.mark.parametrize("module", ["metrics", "tables.collect", "results", "grid", "cli.eval", "methods.talr_ap"])
def test_import_is_light(module: str) -> None:
    assert not loaded_by(f"import hashbench.{module}") & HEAVY


def test_nothing_trusts_what_it_reads() -> None:
    forbidden = ("pickle.load", "allow_pickle=True", "weights_only=False", "extractall(", "yaml.load(")
    for path in FILES:
        text = path.read_text()
        assert not [word for word in forbidden if word in text], path
