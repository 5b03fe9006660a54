"""A root of one's own adds to what hashbench ships; a broken entry in it is one line, and the rest works."""

from pathlib import Path

import pytest
from support.command_line import CommandLine
from support.on_digits import on_digits
from support.one_line import one_line
from support.toy_root import REPOSITORY

from hashbench.foundation import paths
from hashbench.foundation.registry import Catalogue
from hashbench.running.datasets.card import cards
from hashbench.running.runs import settings
from hashbench.showing.tables import papers, spec

CLONE = '[project]\nname = "hashbench"\n'
TABLE = """
title = "Mine"
paper = "hashbench"
source = "a test"
defaults = {{ dataset = "digits", protocol = "s1", metric = "ap" }}
[[groups]]
columns = [{{ label = "8 bits", settings = {{ bits = 8 }} }}]
rows = [{{ label = "row", method = "{method}" }}]
"""


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty root of one's own."""
    folder = tmp_path / "root"
    for part in ("datasets", "experiments/methods", "experiments/tables"):
        (folder / part).mkdir(parents=True)
    monkeypatch.setenv("HASHBENCH_ROOT", str(folder))
    return folder


@pytest.fixture
def no_folders_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("HASHBENCH_ROOT")
    monkeypatch.delenv("HASHBENCH_RESULTS")


def project(folder: Path, pyproject: str | None = None, parts: tuple[str, ...] = ("datasets", "experiments/methods")):
    for part in parts:
        (folder / part).mkdir(parents=True)
    (folder / "datasets" / "broken.toml").write_text("title = 3")
    if pyproject is not None:
        (folder / "pyproject.toml").write_text(pyproject)
    return folder


@pytest.mark.parametrize(
    "pyproject",
    [None, '[project]\nname = "other"\n', "[project"],
)
def test_another_project_with_such_folders_is_no_root(
    pyproject: str | None,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    no_folders_named: None,
    hashbench: CommandLine,
) -> None:
    monkeypatch.chdir(project(tmp_path / "other", pyproject))
    assert paths.clone() is None
    assert paths.roots() == [REPOSITORY]
    assert paths.results() == tmp_path / "other" / "results"
    out = hashbench.printed("list datasets")
    assert "digits" in out and "broken" not in out


def test_a_clone_is_found_from_below_and_keeps_its_results(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, no_folders_named: None
) -> None:
    clone = project(tmp_path / "clone", CLONE)
    within = project(clone / "a" / "another", '[project]\nname = "other"\n')
    monkeypatch.chdir(within)
    assert paths.roots() == [clone]
    assert paths.results() == clone / "results"
    (clone / "pyproject.toml").unlink()
    assert paths.roots() == [REPOSITORY]
    assert paths.results() == within / "results"


def test_a_named_root_adds_and_does_not_move_the_results(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, hashbench: CommandLine
) -> None:
    monkeypatch.delenv("HASHBENCH_RESULTS")
    monkeypatch.chdir(tmp_path)
    digits_card(root, "mine")
    (root / "experiments" / "tables" / "mine.toml").write_text(TABLE.format(method="lsh"))
    assert paths.roots() == [root, REPOSITORY]
    assert paths.results() == tmp_path / "results"
    assert {"mine", "digits", "cifar10"} <= set(cards())
    assert {"mine", "talr_table1"} <= set(spec.names())
    code, out, err = hashbench("--root", str(root), "doctor")
    lines = dict(line.split(maxsplit=1) for line in out.splitlines() if len(line.split()) > 1)
    assert code == 0
    assert err == ""
    assert lines["root"].startswith(f"{root} ") and lines["shipped"].startswith(f"{REPOSITORY} ")
    assert lines["results"].startswith(f"{tmp_path / 'results'} ")
    assert "mine" in lines


def digits_card(root: Path, name: str, old: str = "", new: str = "") -> None:
    """Writes the card of the digits into ``root``, with a change."""
    text = (REPOSITORY / "datasets" / "digits.toml").read_text()
    assert old in text
    (root / "datasets" / f"{name}.toml").write_text(text.replace(old, new))


def test_a_folder_with_neither_is_refused(tmp_path: Path, hashbench: CommandLine) -> None:
    err = hashbench.refused("--root", str(tmp_path), "list datasets")
    assert err == f"{tmp_path}: not a root: a folder that holds datasets/ and experiments/ is"


def test_an_entry_of_the_named_root_hides_the_shipped_one_of_its_name(root: Path) -> None:
    shipped = on_digits("lsh", {"bits": 8})
    digits_card(root, "digits", "queries_per_class = 50", "queries_per_class = 40")
    text = (REPOSITORY / "experiments" / "methods" / "lsh.toml").read_text()
    (root / "experiments" / "methods" / "lsh.toml").write_text(text.replace('title = "LSH"', 'title = "My LSH"'))
    named = on_digits("lsh", {"bits": 8})
    assert str(named.name) != str(shipped.name)  # no row is taken for one of another split
    assert settings.method_file("lsh").title == "My LSH"
    (root / "experiments" / "papers.toml").write_text(
        '[hashbench]\ntype = "misc"\nauthor = ["Me"]\ntitle = "Mine"\nyear = 2020\n'
        '[new]\ntype = "misc"\nauthor = ["Me"]\ntitle = "New"\n'
    )
    entries = papers.papers()
    assert entries["hashbench"].title == "Mine"
    assert entries["new"].title == "New"
    assert "he2018tieaware" in entries


@pytest.fixture
def broken(root: Path) -> Path:
    """A root with one broken entry of each kind beside a good one."""
    digits_card(root, "good")
    (root / "datasets" / "bad.toml").write_text("title = [")
    (root / "datasets" / "worse.toml").mkdir()
    (root / "datasets" / "._good.toml").write_bytes(b"\0\5\x16\7")  # what macOS leaves beside a copied file
    (root / "experiments" / "methods" / "itq.toml").write_text("title = 3")
    for name, method in (("good", "lsh"), ("removed", "a_method_of_old"), ("on_itq", "itq"), ("also_on_itq", "itq")):
        (root / "experiments" / "tables" / f"{name}.toml").write_text(TABLE.format(method=method))
    (root / "experiments" / "papers.toml").write_text('[new]\ntype = "misc"\n')
    return root


LAST = "error: {} left out: see the line{} above"


def at(*parts: str, begins: str = "left out") -> str:
    return f"{begins}: {paths.root().joinpath(*parts)}"


def test_a_broken_entry_is_one_line_of_a_list(broken: Path, hashbench: CommandLine) -> None:
    code, out, err = hashbench("list datasets")
    assert code == 1
    assert {line.split()[0] for line in out.splitlines() if line[0] != " "} == set(cards()) - {"bad", "worse"}
    assert [line.partition(": not a readable TOML file: ")[0] for line in err.splitlines()] == [
        at("datasets", "bad.toml"),
        at("datasets", "worse.toml"),
        LAST.format(2, "s"),
    ]
    code, out, err = hashbench("list methods")
    assert code == 1 and "\n  lsh" in out and "\n  itq " not in out
    assert err.startswith(f"{at('experiments', 'methods', 'itq.toml')}: ") and err.count("\n") == 2
    code, out, err = hashbench("list tables")
    assert code == 1 and "\ngood" in out and "\nremoved" not in out and "talr_table1" in out
    assert err.startswith("left out: table removed: unknown method 'a_method_of_old'") and err.count("\n") == 2
    code, out, err = hashbench("list papers")
    assert code == 1 and "he2018tieaware" in out
    assert err == f"{at('experiments', 'papers.toml')}: new: key 'author' is missing\n{LAST.format(1, '')}\n"


@pytest.mark.parametrize(
    "text, says", [("X = (\n", ":1: '(' was never closed"), ("\nX = y\n", ":2: name 'y' is not defined")]
)
def test_a_broken_file_of_an_entry_is_named_with_its_line(
    text: str, says: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (package := tmp_path / f"broken_{len(text)}").mkdir()
    (package / "__init__.py").write_text("")
    (package / "mine.py").write_text(text)
    monkeypatch.syspath_prepend(str(tmp_path))
    with one_line() as caught:
        Catalogue("method", package.name, "METHOD", int).get("mine")
    assert str(caught.value).startswith(f"method mine: {package / 'mine.py'}{says}")


def test_every_table_but_the_broken_ones_is_rendered(
    broken: Path, monkeypatch: pytest.MonkeyPatch, hashbench: CommandLine
) -> None:
    monkeypatch.setattr(paths, "shipped", lambda: REPOSITORY / "nothing")  # the tables of this root are enough
    for method in ("lsh.toml",):
        source = REPOSITORY / "experiments" / "methods" / method
        (broken / "experiments" / "methods" / method).write_text(source.read_text())
    digits_card(broken, "digits")
    code, out, err = hashbench("table --all")
    lines = err.splitlines()
    assert code == 2 and "Mine" in out
    assert lines[0].startswith(
        f"{at('experiments', 'methods', 'itq.toml', begins='error')}: "
    )  # once, though two tables need it
    assert lines[1].startswith("error: table removed: unknown method 'a_method_of_old'")
    assert lines[2:] == ["error: 3 of 4 tables cannot be rendered: see the errors above"]
    code, out, _ = hashbench("table --all --write")
    assert code == 2
    assert {Path(line).stem for line in out.splitlines()} == {"good", "hashbench"}


def test_a_broken_entry_stops_only_what_names_it(broken: Path, hashbench: CommandLine) -> None:
    hashbench.done("status good")
    hashbench.done("run good --dry-run")
    for command in (["status", "removed"], ["table", "removed"], ["run", "removed"], ["table", "good", "on_itq"]):
        code, out, err = hashbench(*command)
        assert (code, out) == (2, "") and err.count("\n") == 1, command
    refused = hashbench.refused("train lsh bad --protocol s1 --bits 8")
    assert f"error: {refused}".startswith(f"{at('datasets', 'bad.toml', begins='error')}: not a readable TOML file")
    code, out, _ = hashbench("doctor")
    lines = {line.split()[0]: line for line in out.splitlines() if line.strip()}
    assert code == 0
    assert "bad.toml: not a readable TOML file" in " ".join(out.split()) and "1,797 items" in lines["good"]
