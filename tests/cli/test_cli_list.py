"""``hashbench list``, through main() as a user meets it."""

import json

import pytest
from support import committed
from support.command_line import status as run

from hashbench.cli.catalogue import KINDS
from hashbench.methods import METHODS
from hashbench.tables.papers import bibtex, papers


def test_papers_are_listed_by_key_with_year_and_title(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("list", "papers") == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines if line[0] != " "] == sorted(papers())
    (line,) = (line for line in lines if line.startswith("he2018tieaware"))
    assert line.split(maxsplit=2)[1:] == ["2018", "Hashing as Tie-Aware Learning to Rank"]


def test_papers_are_printed_as_bibtex(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("list", "papers", "--bibtex") == 0
    entries = capsys.readouterr().out.strip().split("\n\n")
    assert entries == [bibtex(key, paper) for key, paper in papers().items()]


def test_alone_it_lists_the_kinds_with_the_number_of_their_entries(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("list") == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines[:-2]] == list(KINDS)
    assert lines[0].split()[:2] == ["methods", str(len(METHODS.names))]
    assert lines[-1] == "- hashbench list KIND lists them, hashbench show NAME shows one"
    assert run("list", "--json") == 0
    counts = json.loads(capsys.readouterr().out)["kinds"]
    for kind, count in counts.items():
        assert run("list", kind, "--json") == 0
        assert len(json.loads(capsys.readouterr().out)[kind]) == count


def test_methods_stand_in_groups(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("list", "methods") == 0
    groups = capsys.readouterr().out.split("\n\n")
    assert [group.splitlines()[0] for group in groups] == ["deep", "pretraining", "quantisation", "shallow", "sparse"]
    deep, pretraining, quantisation, shallow, sparse = (
        {line.split()[0] for line in group.splitlines() if line[2] != " "} for group in groups
    )
    assert "classifier" in pretraining and {"pq", "opq"} <= quantisation
    assert {"dpsh", "talr_ap"} <= deep and {"itq", "ksh"} <= shallow and {"sparse_hash", "sparse_vq"} <= sparse


def test_lists_fit_80_columns(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    committed.give_rows(monkeypatch)
    monkeypatch.setenv("COLUMNS", "200")  # of a terminal: this is none
    for kind in KINDS:
        assert run("list", kind) == 0, kind
        assert max(map(len, capsys.readouterr().out.splitlines())) <= 80, kind


def test_runs_are_listed_with_a_score_and_their_day(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert run("list", "runs") == 0
    assert capsys.readouterr().out == ""
    committed.give_rows(monkeypatch)
    assert run("list", "runs", "--only", "dataset=cifar10", "--only", "method=talr-ndcg") == 0
    lines = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert ["cifar10-s1-talr_ndcg-32b-s2-a9fba354a6", "ap", "0.4874", "2026-11-21"] in lines
    assert all("-talr_ndcg-" in line[0] and line[0].startswith("cifar10-") for line in lines)


def test_protocols_stand_under_their_data_set(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("list", "protocols", "--only", "dataset=digits") == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "digits" and lines[1].startswith("  s1  50 queries and 50 training images a class")
