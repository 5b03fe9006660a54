"""Who may know whom, and what may not be imported before it is needed."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

PACKAGE = Path(__file__).resolve().parent.parent / "hashbench"

# The folders in the order of the pipeline: a module may import from its own line and from those above it.
ORDER = [
    {"errors", "registry", "config", "paths", "files", "parallel", "progress", ""},
    {"codes", "relevance"},
    {"histogram"},
    {"hasher"},
    {"losses", "models"},
    {"training", "sparse"},
    {"methods", "metrics"},
    {"evaluation", "datasets"},
    {"features"},
    {"runs"},
    {"tables", "figures"},
    {"cli", "__main__", "__init__"},  # __init__ opens what is asked for, and nothing before
]
PLACE = {folder: place for place, folders in enumerate(ORDER) for folder in folders}
HEAVY = {"torch", "torchvision", "sklearn", "scipy", "pandas", "matplotlib", "ortools"}


def folder(module: str) -> str:
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
    assert own in PLACE, f"{own} has no place in the order: say in this test where it belongs"
    for name in imports(ast.parse(path.read_text())):
        target = folder(name) if folder(name) in PLACE else ""
        assert PLACE[target] <= PLACE[own], f"{path.name} imports {name}, which comes after it in the pipeline"


def loaded_by(statement: str) -> set[str]:
    code = f"import sys\n{statement}\nprint(*sorted({{name.split('.')[0] for name in sys.modules}}))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)
    return set(done.stdout.splitlines()[-1].split())


def test_help_imports_nothing_heavy() -> None:
    statement = "from hashbench.cli._app import main\ntry:\n    main(['--help'])\nexcept SystemExit:\n    pass"
    assert not loaded_by(statement) & (HEAVY | {"numpy", "numba", "pydantic", "h5py"})


def test_naming_a_run_imports_no_torch() -> None:
    statement = "from hashbench.runs import spec\nspec.resolve('digits', 's1', 'talr-ap', {'bits': 12})"
    assert not loaded_by(statement) & HEAVY


@pytest.mark.parametrize(
    "module", ["metrics", "tables.collect", "runs.store", "tables.grid", "cli.eval", "methods.talr_ap"]
)
def test_import_is_light(module: str) -> None:
    assert not loaded_by(f"import hashbench.{module}") & HEAVY


def test_nothing_trusts_what_it_reads() -> None:
    forbidden = ("pickle.load", "allow_pickle=True", "weights_only=False", "extractall(", "yaml.load(")
    for path in FILES:
        text = path.read_text()
        assert not [word for word in forbidden if word in text], path
