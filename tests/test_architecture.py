"""Who may know whom, and what may not be imported before it is needed."""

import ast
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest
from support.python import python

PACKAGE = Path(__file__).resolve().parent.parent / "hashbench"

# The folders in the order of the pipeline: a module may import from its own line and from those above it.
ORDER = """
__init__ foundation
scoring.codes scoring.relevance
scoring.histogram
scoring.metrics
scoring.evaluation
learning.steps
learning.contract
learning.losses learning.models
learning.training learning.sparse
learning.methods
running.jobs running.datasets
running.features
running.runs
running.tuning
showing.sheet showing.layout showing.ink showing.inks
showing.search_sheet showing.evaluation
showing.export
showing.tables
showing.figures showing.comparison
showing.bundle showing.report
showing.bench
cli __main__
"""
PLACE = {folder: place for place, folders in enumerate(ORDER.split("\n")) for folder in folders.split()}
DOORS = {"scoring", "learning", "running", "showing"}
PRINTED = ("hashbench.scoring.evaluation.scores", "hashbench.showing.evaluation.lines_of")  # print(score(...))
HEAVY = {"torch", "torchvision", "sklearn", "scipy.linalg", "scipy.sparse", "scipy.optimize", "scipy.special"}
HEAVY |= {"pandas", "matplotlib", "ortools"}


FILES = sorted(PACKAGE.rglob("*.py"))


def module_of(path: Path) -> str:
    parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


@cache
def modules() -> dict[str, ast.Module]:
    """Each module, parsed."""
    return {module_of(path): ast.parse(path.read_text()) for path in FILES}


PACKAGES = {module_of(path) for path in FILES if path.name == "__init__.py"}

SCRIPT = ("hashbench.__main__", "hashbench.cli._entry.main")  # the command line itself, as pyproject.toml names it


def imported(nodes: Iterable[ast.AST]) -> set[str]:
    """The full names that the import statements among ``nodes`` ask for, of this package: of modules or in them."""
    names: set[str] = set()
    for node in nodes:
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"line {node.lineno}: imports are written in full"
            names |= {f"{node.module}.{alias.name}" for alias in node.names}
    return {name for name in names if name.split(".")[0] == "hashbench"}


def when_imported(tree: ast.AST) -> Iterator[ast.AST]:
    """The nodes that run when a module is imported: not the bodies of functions, nor what only types need."""
    for node in ast.iter_child_nodes(tree):
        is_function = isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
        if not is_function and not (isinstance(node, ast.If) and ast.unparse(node.test).endswith("TYPE_CHECKING")):
            yield node
            yield from when_imported(node)


def existing(name: str) -> str:
    """The module that ``name`` is, or is in."""
    while name not in modules():
        name = name.rpartition(".")[0]
    return name


def folder(module: str) -> str:
    """Its folder: foundation, cli, or one behind a door, such as scoring.codes; __init__ for the package itself."""
    parts = module.split(".")[1:] or ["__init__"]
    return ".".join(parts[: 2 if parts[0] in DOORS else 1])


def test_nothing_imports_upward() -> None:
    upward = set()
    for module, tree in modules().items():
        if folder(module) in {"__init__", *DOORS}:
            continue  # it opens what is asked for, and nothing before
        for name in imported(ast.walk(tree)):
            if PLACE[folder(existing(name))] > PLACE[folder(module)]:
                upward.add((module, name))
    assert upward == {PRINTED}, "a folder without a place in the order needs one"


def test_every_folder_is_behind_a_door() -> None:
    folders = {path.name for path in PACKAGE.iterdir() if path.is_dir() and path.name != "__pycache__"}
    assert folders - {"_data"} == {"foundation", *DOORS, "cli"}


def owner_of_private(name: str) -> str | None:
    """The package inside which ``name`` may be imported; None where no part of it has a leading underscore.

    A private module belongs to its package, a private name of a module to the package of that module; at the top of
    hashbench a module is a folder of its own.
    """
    parts = name.split(".")
    private = [at for at, part in enumerate(parts) if part.startswith("_") and not part.endswith("__")]
    if not private:
        return None
    within = ".".join(parts[: private[0]])
    package = within if within in PACKAGES else within.rpartition(".")[0]
    return within if package == "hashbench" else package


def private_imports() -> set[tuple[str, str]]:
    """(module, name) of each import of a private name, or out of a private module, from outside its package."""
    return {
        (module, name)
        for module, tree in modules().items()
        for name in imported(ast.walk(tree))
        if (owner := owner_of_private(name)) is not None and not f"{module}.".startswith(f"{owner}.")
    }


def test_no_folder_imports_private_names_of_another() -> None:
    assert private_imports() == {SCRIPT}, "give what others need a public name"


@pytest.mark.parametrize(
    "name, owner",
    [
        ("hashbench.scoring.metrics.Metrics", None),
        ("hashbench.__version__", None),
        ("hashbench.scoring.metrics._name.split_names", "hashbench.scoring.metrics"),
        ("hashbench.scoring.metrics._name", "hashbench.scoring.metrics"),
        ("hashbench.scoring.metrics.ap._x", "hashbench.scoring.metrics"),
        ("hashbench.cli._options.Device", "hashbench.cli"),
        ("hashbench.foundation.registry._x", "hashbench.foundation"),
    ],
)
def test_private_names_belong_to_a_package(name: str, owner: str | None) -> None:
    assert owner_of_private(name) == owner


def imports_of(nodes: Callable[[ast.AST], Iterable[ast.AST]]) -> dict[str, set[str]]:
    """Each module with the modules that ``nodes`` of it import."""
    return {module: {existing(name) for name in imported(nodes(tree))} - {module} for module, tree in modules().items()}


def circle(graph: dict[str, set[str]]) -> list[str]:
    """The modules of one circle of imports, in their order; none where there is no circle."""
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        return list(error.args[1])
    return []


def test_no_circle_of_imports() -> None:
    assert circle(imports_of(when_imported)) == []


def test_no_circle_of_imports_inside_functions_either() -> None:
    graph = imports_of(ast.walk)
    module, shown = PRINTED
    graph[module].remove(existing(shown))
    assert circle(graph) == []


def test_a_circle_is_found() -> None:
    assert set(circle({"a": {"b"}, "b": {"c"}, "c": {"a"}, "d": {"a"}})) == {"a", "b", "c"}


def test_few_modules_stand_at_the_top() -> None:
    assert len(list(PACKAGE.glob("*.py"))) <= 10


def loaded_by(statement: str) -> set[str]:
    code = f"import sys\n{statement}\nprint(*sys.modules)"
    return set(python(code).splitlines()[-1].split())


def test_help_imports_nothing_heavy() -> None:
    statement = "from hashbench.cli._app import main\ntry:\n    main(['--help'])\nexcept SystemExit:\n    pass"
    assert not loaded_by(statement) & (HEAVY | {"numpy", "numba", "pydantic", "h5py"})


def test_naming_a_run_imports_no_torch() -> None:
    statement = "from hashbench.running.runs.run import Run\nRun.resolve('digits', 's1', 'talr-ap', {'bits': 12})"
    assert not loaded_by(statement) & HEAVY


def test_imports_are_light() -> None:
    modules = (
        "scoring.metrics",
        "showing.tables.collect",
        "running.runs.store",
        "showing.tables.cell_runs",
        "running.runs.run_all",
        "showing.figures",
        "cli.eval",
        "learning.methods.talr_ap",
    )
    assert not loaded_by("\n".join(f"import hashbench.{module}" for module in modules)) & HEAVY


def test_nothing_trusts_what_it_reads() -> None:
    forbidden = ("pickle.load", "allow_pickle=True", "weights_only=False", "extractall(", "yaml.load(")
    for path in FILES:
        text = path.read_text()
        assert not [word for word in forbidden if word in text], path
