"""``hashbench list papers``, through main() as a user meets it."""

import pytest

from hashbench.cli._app import main
from hashbench.tables.papers import bibtex, papers


def run(*arguments: str) -> int:
    with pytest.raises(SystemExit) as exit_:
        main(list(arguments))
    assert isinstance(exit_.value.code, int)
    return exit_.value.code


def test_papers_are_listed_by_key_with_year_and_title(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("list", "papers") == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines] == sorted(papers())
    (line,) = (line for line in lines if line.startswith("he2018tieaware"))
    assert line.split(maxsplit=2)[1:] == ["2018", "Hashing as Tie-Aware Learning to Rank"]


def test_papers_are_printed_as_bibtex(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("list", "papers", "--bibtex") == 0
    entries = capsys.readouterr().out.strip().split("\n\n")
    assert entries == [bibtex(key, paper) for key, paper in papers().items()]


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (("methods", "--bibtex"), "hashbench list papers --bibtex"),
        (("paper",), "unknown catalogue 'paper': did you mean papers"),
    ],
)
def test_bad_usage_exits_2_with_one_line(
    capsys: pytest.CaptureFixture[str], arguments: tuple[str, ...], complaint: str
) -> None:
    assert run("list", *arguments) == 2
    captured = capsys.readouterr()
    assert captured.out == "" and captured.err.count("\n") == 1
    assert complaint in captured.err
