"""Every cited key has an entry and every entry is cited; the BibTeX can be copied; CITATION.cff fits the package."""

import os
import re
import tomllib
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from support.one_line import one_line
from support.toy_root import REPOSITORY

from hashbench import __version__
from hashbench.foundation.config import read_toml
from hashbench.learning.methods import METHODS
from hashbench.running.datasets.card import cards, load_card
from hashbench.running.runs.settings import method_file
from hashbench.scoring.metrics import METRICS
from hashbench.showing.tables import papers, spec

SHARED = Path(os.environ.get("HASHBENCH_SHARED", REPOSITORY.parent / "shared"))
KEY_IN_TEXT = re.compile(r"\b[a-z]+(?:19|20)\d\d[a-z]+\b")


def cited_in_files() -> Iterator[tuple[str, str]]:
    """(key, where) for each key in experiments/, datasets/ and the metrics."""
    for name in METHODS.names:
        yield method_file(name).paper, f"method {name}"
    for name in METRICS.names:
        yield METRICS.get(name).paper, f"metric {name}"
    for table in map(spec.load, spec.names()):
        for key in {table.paper, *(cell.citation for cell in table.cells)}:
            yield key, f"table {table.name}"
    for card in map(load_card, cards()):
        for key in (*card.citation.split(", "), *(protocol.citation for protocol in card.protocols.values())):
            yield key, f"dataset {card.name}"
    for path in (REPOSITORY / "experiments" / "figures").glob("*.toml"):
        yield read_toml(path)["paper"], f"figure {path.stem}"


def cited_in_text() -> Iterator[tuple[str, str]]:
    """(key, where) for each word that looks like a key in the package, the tests and the benchmarks."""
    for folder in ("hashbench", "tests", "benchmarks"):
        for path in (REPOSITORY / folder).rglob("*.py"):
            for key in KEY_IN_TEXT.findall(path.read_text(encoding="utf-8")):
                yield key, str(path.relative_to(REPOSITORY))


@pytest.fixture(scope="module")
def cited() -> dict[str, set[str]]:
    """The places that name each key."""
    found: dict[str, set[str]] = defaultdict(set)
    for key, where in (*cited_in_files(), *cited_in_text()):
        found[key].add(where)
    return dict(found)


def test_every_cited_key_has_an_entry(cited: dict[str, set[str]]) -> None:
    entries = papers.papers()
    assert {key: places for key, places in cited.items() if key not in entries} == {}


def test_no_entry_is_unused(cited: dict[str, set[str]]) -> None:
    assert set(papers.papers()) - set(cited) == set()


def test_a_key_begins_with_its_first_author_and_year() -> None:
    for key, paper in papers.papers().items():
        if paper.year is not None:
            name = paper.author[0].split()[-1].lower().replace("é", "e")
            assert key.startswith(f"{name}{paper.year}"), key


@pytest.mark.parametrize(
    "text, key",
    [
        ("talr.txt", "he2018tieaware"),
        ("sparse_hash.txt", "jeong2018efficient"),
        ("structhash.txt", "lin2014optimizing"),
    ],
)
def test_title_and_authors_are_those_on_the_paper(text: str, key: str) -> None:
    path = SHARED / "papers" / text
    if not path.is_file():
        pytest.skip(f"{path} is not here: set HASHBENCH_SHARED to the folder that holds papers/")
    head = " ".join(path.read_text(encoding="utf-8")[:600].split()).lower()
    paper = papers.papers()[key]
    assert paper.title.lower() in head
    assert all(author.lower() in head for author in paper.author)


def fields(entry: str) -> dict[str, str]:
    """The fields of a BibTeX entry, read as BibTeX does: a name, and a value in balanced braces."""
    found = {}
    position = entry.index(",") + 1
    while match := re.compile(r"\s*(\w+) = \{").match(entry, position):
        depth = 1
        end = match.end()
        while depth:
            depth += {"{": 1, "}": -1}.get(entry[end], 0)
            end += 1
        found[match[1]] = entry[match.end() : end - 1]
        assert entry[end] == ","
        position = end + 1
    assert entry[position:].strip() == "}"
    return found


def test_bibtex_of_every_entry_has_all_that_the_entry_says() -> None:
    for key, paper in papers.papers().items():
        entry = papers.bibtex(key, paper)
        assert entry.startswith(f"@{paper.type}{{{key},\n")
        found = fields(entry)
        assert found.pop("author").split(" and ") == paper.author
        assert found.pop("title") == f"{{{paper.title}}}"
        assert found.pop("pages", "").replace("--", "-") == (paper.pages or "")
        assert (found.pop("archiveprefix", None) == "arXiv") == (paper.eprint is not None)
        rest = paper.model_dump(exclude_none=True, exclude={"type", "author", "title", "pages"})
        assert found == {name: str(value) for name, value in rest.items()}


ENTRY: dict[str, Any] = {
    "type": "article",
    "author": ["A. One"],
    "title": "On Codes",
    "journal": "Journal",
    "year": 2000,
}


def as_toml(entry: dict[str, Any]) -> str:
    return "[on_codes]\n" + "".join(f"{name} = {value!r}\n" for name, value in entry.items())


def load(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str) -> dict[str, papers.Paper]:
    (tmp_path / "experiments").mkdir()
    (tmp_path / "experiments" / "papers.toml").write_text(text, encoding="utf-8")
    monkeypatch.setenv("HASHBENCH_ROOT", str(tmp_path))
    return papers.papers()


@pytest.mark.parametrize(
    "entry, complaint",
    [
        ({**ENTRY, "jornal": "x"}, "unknown key 'jornal': did you mean journal"),
        ({**ENTRY, "author": []}, "author"),
        ({**ENTRY, "title": " "}, "title"),
        ({**ENTRY, "year": 20000}, "year"),
        ({**ENTRY, "pages": "1--9"}, "pages"),
        ({**ENTRY, "doi": "https://doi.org/10.1/x"}, "doi"),
        ({**ENTRY, "eprint": "arXiv:1705.08562"}, "eprint"),
        ({**ENTRY, "url": "http://x.org"}, "url"),
        ({**ENTRY, "type": "novel"}, "type"),
        ({name: value for name, value in ENTRY.items() if name != "journal"}, "needs the key 'journal'"),
        ({name: value for name, value in ENTRY.items() if name != "year"}, "needs the key 'year'"),
        ({name: value for name, value in ENTRY.items() if name != "title"}, "key 'title' is missing"),
    ],
)
def test_a_wrong_entry_is_refused_in_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, entry: dict[str, Any], complaint: str
) -> None:
    with one_line(rf"papers\.toml: on_codes: .*{re.escape(complaint)}"):
        load(tmp_path, monkeypatch, as_toml(entry))


@pytest.mark.parametrize("text", ["title = 'x'\n", "['two words']\ntype = 'misc'\n", "['{a}']\ntype = 'misc'\n"])
def test_a_wrong_key_is_refused_in_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    with one_line(r"papers\.toml: .*an entry is a table"):
        load(tmp_path, monkeypatch, text)


def test_citation_file_agrees_with_the_package() -> None:
    citation = yaml.safe_load((REPOSITORY / "CITATION.cff").read_text(encoding="utf-8"))
    project = tomllib.loads((REPOSITORY / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert citation["cff-version"] == "1.2.0"
    assert citation["message"] and citation["type"] == "software"
    assert citation["version"] == __version__
    assert citation["license"] == project["license"]
    assert citation["keywords"] == project["keywords"]
    own = papers.papers()["hashbench"]
    assert citation["title"] == own.title
    assert [f"{{{author['name']}}}" for author in citation["authors"]] == own.author
