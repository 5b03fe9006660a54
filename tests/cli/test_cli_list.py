"""``hashbench list``: kinds, and the entries of each."""

import pytest
from support import committed
from support.command_line import CommandLine

from hashbench.cli.catalogue import KINDS
from hashbench.learning.methods import METHODS
from hashbench.showing.tables.papers import bibtex, papers


def test_papers_are_listed_by_key_or_as_bibtex(hashbench: CommandLine) -> None:
    lines = hashbench.done("list papers").lines
    assert [line.split()[0] for line in lines if line[0] != " "] == sorted(papers())
    (line,) = (line for line in lines if line.startswith("he2018tieaware"))
    assert line.split(maxsplit=2)[1:] == ["2018", "Hashing as Tie-Aware Learning to Rank"]
    entries = hashbench.done("list papers --bibtex").out.strip().split("\n\n")
    assert entries == [bibtex(key, paper) for key, paper in papers().items()]


def test_alone_it_lists_the_kinds_with_the_number_of_their_entries(hashbench: CommandLine) -> None:
    lines = hashbench.done("list").lines
    assert [line.split()[0] for line in lines[:-2]] == list(KINDS)
    assert lines[0].split()[:2] == ["methods", str(len(METHODS.names))]
    for kind, count in hashbench.json("list")["kinds"].items():
        assert len(hashbench.json(f"list {kind}")[kind]) == count


def test_runs_are_listed_with_a_score_and_their_day(hashbench: CommandLine, monkeypatch: pytest.MonkeyPatch) -> None:
    assert hashbench.done("list runs").out == ""
    committed.give_rows(monkeypatch)
    lines = hashbench.done("list runs --only dataset=cifar10 --only method=talr-ndcg").lines
    assert "cifar10-s1-talr_ndcg-32b-s2-a9fba354a6 ap 0.4874 2026-11-21" in [" ".join(line.split()) for line in lines]
    assert all(line.startswith("cifar10-") and "-talr_ndcg-" in line for line in lines)


def test_protocols_stand_under_their_data_set(hashbench: CommandLine) -> None:
    lines = hashbench.done("list protocols --only dataset=digits").lines
    assert lines[0] == "digits" and lines[1].startswith("  s1  50 queries and 50 training images a class")
    assert "swuxyj/DeepHash-pytorch" in hashbench.done("list conventions").out
