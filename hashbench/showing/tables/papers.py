"""The publications that hashbench cites by key, from experiments/papers.toml, and their BibTeX."""

import re
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field, StringConstraints, model_validator

from hashbench.foundation import paths
from hashbench.foundation.config import Strict, parse, read_toml
from hashbench.foundation.errors import HashbenchError
from hashbench.foundation.registry import Broken, each_usable, refuse

OWN = "hashbench"  # the key of our own tables and figures, which has no entry
Text = Annotated[str, StringConstraints(min_length=1, strip_whitespace=True)]
# what says when and where an entry of this type was published
VENUE = {
    "article": ("year", "journal"),
    "inproceedings": ("year", "booktitle"),
    "book": ("year", "publisher"),
    "techreport": ("year", "institution"),
}


class Paper(Strict):
    """An entry of experiments/papers.toml; its fields are those of BibTeX."""

    type: Literal["article", "inproceedings", "book", "techreport", "misc"]
    author: list[Text] = Field(min_length=1)
    title: Text
    journal: Text | None = None
    booktitle: Text | None = None
    publisher: Text | None = None
    institution: Text | None = None
    howpublished: Text | None = None
    year: Annotated[int, Field(ge=1900, le=2100)] | None = None
    volume: int | None = None
    number: int | None = None
    pages: Annotated[str, StringConstraints(pattern=r"^\d+-\d+$")] | None = None
    doi: Annotated[str, StringConstraints(pattern=r"^10\.\S+/\S+$")] | None = None
    eprint: Annotated[str, StringConstraints(pattern=r"^\d{4}\.\d{4,5}$")] | None = None  # number at arXiv
    url: Annotated[str, StringConstraints(pattern=r"^https://\S+$")] | None = None

    @model_validator(mode="after")
    def _is_complete(self) -> "Paper":
        for field in VENUE.get(self.type, ()):
            if getattr(self, field) is None:
                raise ValueError(f"type {self.type!r} needs the key {field!r}")
        return self


def papers(broken: Broken = refuse) -> dict[str, Paper]:
    """All entries by key, sorted: of the shipped file, and of the named root's file, which win.

    ``broken`` is called with the error of a wrong file or entry, which is left out.
    """
    entries: dict[str, Paper] = {}
    for root in reversed(paths.roots()):
        if (path := root / "experiments" / "papers.toml").exists():
            values = dict(each_usable([str(path)], lambda name: read_toml(Path(name)), broken)).get(str(path), {})
            entries.update(each_usable(values, partial(_paper, path, values), broken))
    return dict(sorted(entries.items()))


def _paper(path: Path, values: dict[str, Any], key: str) -> Paper:
    entry = values[key]
    if not re.fullmatch(r"[A-Za-z][A-Za-z0-9_-]*", key) or not isinstance(entry, dict):
        raise HashbenchError(f"{path}: {key!r}: an entry is a table, [key], its key letters, digits, - and _")
    return parse(Paper, entry, f"{path}: {key}")


def all_bibtex(broken: Broken = refuse) -> str:
    """The BibTeX of all entries: the content of the .bib file that the LaTeX of every table needs."""
    return "\n\n".join(bibtex(key, paper) for key, paper in papers(broken).items()) + "\n"


def cited(key: str, entries: Mapping[str, Paper]) -> str:
    """How a text cites an entry: "He et al. (2018)"; without an entry or a year, the key.

    >>> kun = Paper(type="misc", author=["Kun He", "Anton van den Hengel"], title="On Codes", year=2018)
    >>> cited("k", {"k": kun}), cited("other", {"k": kun})
    ('He and van den Hengel (2018)', 'other')
    """
    paper = entries.get(key)
    if paper is None or not paper.year:
        return key
    surnames = [*map(_surname, paper.author)]
    names = " and ".join(surnames)
    if len(surnames) > 2:
        names = f"{surnames[0]} et al."
    return f"{names} ({paper.year})"


def _surname(author: str) -> str:
    """The last name with the small words before it, as in "van den Hengel"."""
    if author.startswith("{"):
        return author.strip("{}")
    words = author.split()
    small = next((place for place, word in enumerate(words[:-1]) if place and word[0].islower()), len(words) - 1)
    return " ".join(words[small:])


def bibtex(key: str, paper: Paper) -> str:
    """The entry as BibTeX, in UTF-8; the title keeps its capitals in every style."""
    fields = paper.model_dump(exclude_none=True, exclude={"type"})
    fields |= {"author": " and ".join(paper.author), "title": f"{{{paper.title}}}"}
    if paper.pages:
        fields["pages"] = paper.pages.replace("-", "--")
    if paper.eprint:
        fields["archiveprefix"] = "arXiv"
    lines = []
    for name, value in fields.items():
        text = str(value)
        if name not in ("doi", "eprint", "url"):  # TeX would take some signs as commands
            text = re.sub(r"([&%$#_])", r"\\\1", text)
        lines.append(f"  {name} = {{{text}}},")
    return "\n".join([f"@{paper.type}{{{key},", *lines, "}"])
