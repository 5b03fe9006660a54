"""``hashbench table`` of a search: what was chosen, every trial, and the list in the overview of results."""

import csv
import io
import json
import re
from pathlib import Path

import pytest
from support.command_line import CommandLine
from support.searches import search_of
from support.toy_root import toy_root

from hashbench.foundation import paths
from hashbench.running.tuning.search import Search, path_of
from hashbench.showing.report.readme import results_readme

SCORES = {
    "lsh": [[0.4, 0.2], [0.1, 0.1], [0.5, 0.4]],
    "itq": [[0.6, 0.5], [None, 0.2]],
}
MARKDOWN = """# The search small: digits (s1)

bits = 16. Each trial is run in 2 repeats, with another seed and other queries; the median of its tie-aware AP \
chooses, and a trial that fails counts as 0. The validation queries are taken out of the database; no query of s1 is \
in any list.

| method | validation AP | of its repeats |  trial | failed | chosen           |
| :----- | ------------: | :------------- | -----: | -----: | :--------------- |
| ITQ    |         0.550 | 0.500 to 0.600 | 1 of 2 | 1 of 2 | iterations = 329 |
| LSH    |         0.450 | 0.400 to 0.500 | 3 of 3 | 0 of 3 | centre = True    |

- to be searched again: ITQ (1 of 2 trials failed; iterations = 329 is at the high end of 5 to 500)
"""
PRINTED = f"#{MARKDOWN}"  # among tables, whose headings are of the second level


@pytest.fixture(autouse=True)
def small() -> Search:
    search_of(SCORES).save()
    return Search.named("small")


def test_a_search_is_printed_as_markdown(hashbench: CommandLine) -> None:
    assert hashbench("table small") == (0, PRINTED, "")


def test_a_search_is_printed_as_csv(small: Search, hashbench: CommandLine) -> None:
    status, out, _ = hashbench("table small --format csv")
    rows = list(csv.DictReader(io.StringIO(out)))
    assert status == 0 and len(rows) == len(small.trials) == 10
    assert rows[2] == {
        **{"method": "itq", "trial": "2", "dataset": "digits", "study": "0", "ap": "", "seconds": ""},
        **{"reason": "it diverged", "iterations": str(small.trials["itq", 2, "digits", 0].searched["iterations"])},
        "centre": "",
    }
    assert {row["centre"] for row in rows[4:]} == {"true", "range"}


@pytest.mark.parametrize("output", ["text", "latex", "html"])
def test_every_format_has_the_choices(output: str, hashbench: CommandLine) -> None:
    status, out, _ = hashbench(f"table small --format {output}")
    assert status == 0 and re.search(r"ITQ\W.*0\.550\W.*iterations = 329", out)


def test_json_has_the_choices_and_an_unknown_name_is_one_line(hashbench: CommandLine) -> None:
    status, out, err = hashbench("table small --json")
    (search,) = json.loads(out)["searches"]
    assert status == 0
    assert err == ""
    assert search["search"] == "small"
    assert search["choices"][0]["ap"] == 0.55
    status, _, err = hashbench("table smal")
    assert status == 2 and len(err.splitlines()) == 1


def test_every_table_comes_with_every_search(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, hashbench: CommandLine
) -> None:
    toy_root(tmp_path, monkeypatch, "methods", "papers.toml", alone=True)
    assert hashbench("table --all")[:2] == (0, PRINTED)
    hashbench.done("table --all --format latex")
    status, out, _ = hashbench("table --all --write")
    assert status == 0 and str(path_of("small").with_suffix(".md")) in out
    assert path_of("small").with_suffix(".md").read_text() == MARKDOWN
    listed = (paths.results() / "README.md").read_text()
    assert re.sub(" +", " ", listed).endswith("| [small](tune/small.md) | digits (s1) | ITQ, LSH | 2 or 3 |\n")
    path_of("small").unlink()
    assert "Searches" not in results_readme([])
