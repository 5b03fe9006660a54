"""README, CONTRIBUTING and docs/: links lead somewhere, commands exist, examples give what they say."""

import doctest
import json
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import typer

from hashbench.cli._app import app
from hashbench.cli._moved import OPTIONS

ROOT = Path(__file__).resolve().parent.parent
PAGES = [
    *(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md", "results/REPORT.md")),
    *sorted((ROOT / "results" / "pages").glob("*.md")),
    *sorted((ROOT / "docs").glob("*.md")),
]
FENCED = re.compile(r"^```([^\n`]*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
INDENTED = re.compile(r"^    (\S.*)$", re.MULTILINE)
INLINE = re.compile(r"(?<!`)`([^`\n]+)`(?!`)")
LINK = re.compile(r"\]\(([^)\s]+)\)")
HEADING = re.compile(r"^#+ (.+)$", re.MULTILINE)
TARGET = re.compile(r"^\(([\w-]+)\)=$", re.MULTILINE)
COMMAND = re.compile(r"^(?:\$ )?(?:python -m )?hashbench (.*)$")
GONE = {"--compile", "--no-channels-last", "--processes"}  # options that the changelog names
CLI: Any = typer.main.get_command(app)

pages = pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))


def without_blocks(text: str) -> str:
    return FENCED.sub("", text)


def anchors(page: Path) -> set[str]:
    """What can be linked to on a page: its headings as GitHub and MyST spell them, and MyST's targets."""
    text = without_blocks(page.read_text())
    headings = [re.sub(r"[^\w\- ]", "", heading).strip().lower().replace(" ", "-") for heading in HEADING.findall(text)]
    return {*headings, *TARGET.findall(text)}


def test_the_speed_of_counting_is_the_measured_one() -> None:
    (path,) = (ROOT / "results" / "benchmarks").glob("scoring-intel-*.json")
    ns = {(t["what"], t["bits"]): t["ns_per_pair"] for t in json.loads(path.read_text())["timings"] if "what" in t}
    lengths = (12, 48, 64)
    ratios = [ns["per-query argsort and ap", bits] / ns["count and ap, classes", bits] for bits in lengths]
    lowest = round(min(ratios))
    highest = round(max(ratios))
    assert f"a {lowest}th to a {highest}th of the time" in (ROOT / "README.md").read_text().replace("\n", " ")
    benchmarks = (ROOT / "docs" / "design.md").read_text()
    assert f"{lowest} to {highest} times as fast" in benchmarks
    for what in ("count, classes", "count and ap, classes", "per-query argsort and ap"):
        cells = [f"{ns[what, bits]:.2f}" if ns[what, bits] < 1 else f"{ns[what, bits]:.1f}" for bits in lengths]
        assert f"| {' | '.join(cells)} |" in benchmarks


@pages
def test_links_lead_somewhere(page: Path) -> None:
    for link in LINK.findall(without_blocks(page.read_text())):
        if re.match(r"https?://", link):
            continue
        path, _, anchor = link.partition("#")
        target = (page.parent / path).resolve() if path else page
        assert target.exists(), f"{link} leads nowhere"
        assert target.is_relative_to(ROOT), f"{link} leads out of the repository"
        if anchor and target.name == "contributing.md":  # which includes another file
            target = ROOT / "CONTRIBUTING.md"
        assert not anchor or anchor in anchors(target), f"{link}: no such heading"


def blocks(page: Path) -> Iterator[str]:
    text = page.read_text().replace("\\\n", " ")  # a line that goes on
    for _, block in FENCED.findall(text):
        yield block
    yield "\n".join(INDENTED.findall(without_blocks(text)))


def arguments(line: str) -> list[str]:
    """What stands behind ``hashbench``: without comment, continuation of a pipe, and the three dots of an output."""
    words = shlex.split(line, comments=True)
    return words[: words.index("|")] if "|" in words else words


def commands_of_blocks(page: Path) -> list[list[str]]:
    lines = [line for block in blocks(page) for line in block.splitlines()]
    return [arguments(match[1]) for line in lines if (match := COMMAND.match(line))]


def commands_inline(page: Path) -> list[list[str]]:
    spans = INLINE.findall(without_blocks(page.read_text()))
    return [arguments(match[1]) for span in spans if (match := COMMAND.match(span))]


def command_of(words: list[str]) -> tuple[Any, list[str]]:
    """The command that the words name, and its arguments; options of the application come before it."""
    command = CLI
    rest = list(words)
    while rest and hasattr(command, "commands"):
        if rest[0].startswith("-"):
            option = option_of(command, rest.pop(0))
            rest = rest if option.is_flag else rest[1:]
            continue
        name = rest.pop(0)
        assert name in command.commands, f"hashbench {' '.join(words)}: there is no command {name}"
        command = command.commands[name]
    return command, rest


def params(command: Any) -> list[Any]:
    """Execution and arguments, --help among them."""
    return list(command.get_params(typer.Context(command)))


def option_of(command: Any, word: str) -> Any:
    name = word.partition("=")[0]
    options = [param for param in params(command) if name in (*param.opts, *param.secondary_opts)]
    assert options, f"{command.name} has no option {name}"
    return options[0]


@pages
def test_commands_in_blocks_parse(page: Path) -> None:
    for words in commands_of_blocks(page):
        command, rest = command_of([word for word in words if word != "..."])
        command.make_context(command.name, rest)  # raises where an argument is missing, wrong or too much


@pages
def test_commands_in_text_exist(page: Path) -> None:
    for words in commands_inline(page):
        command, rest = command_of([word for word in words if word not in {"...", "COMMAND"}])
        for word in rest:
            if word.startswith("-"):
                option_of(command, word)


@cache
def every_option(command: Any = CLI) -> set[str]:
    names = {name for param in params(command) for name in (*param.opts, *param.secondary_opts)}
    return names.union(*(every_option(inner) for inner in getattr(command, "commands", {}).values()))


def test_the_readme_has_at_most_120_lines() -> None:
    assert len((ROOT / "README.md").read_text().splitlines()) <= 120


@pages
def test_options_in_text_exist(page: Path) -> None:
    known = every_option() | GONE
    if page.name == "CHANGELOG.md":
        known |= {option for options in OPTIONS.values() for option in options}
    named = {word for span in INLINE.findall(page.read_text()) for word in re.findall(r"(?<![\w-])--[a-z][\w-]*", span)}
    assert named <= known


@pages
def test_examples_give_what_they_say(page: Path) -> None:
    code = "\n".join(block for language, block in FENCED.findall(page.read_text()) if language.strip() == "pycon")
    if not code:
        return
    if "import torch" in code:
        pytest.importorskip("torch")
    example = doctest.DocTestParser().get_doctest(code, {}, page.name, str(page), 0)
    report: list[str] = []
    result = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE).run(example, out=report.append)
    assert result.attempted and not result.failed, "".join(report)


def test_make_help_is_as_shown() -> None:
    targets = re.findall(r"^([a-z-]+):.*?## (.*)$", (ROOT / "Makefile").read_text(), re.MULTILINE)
    shown = "\n".join(f"{target:<14} {what}" for target, what in targets)
    assert shown in (ROOT / "docs" / "quickstart.md").read_text()


def test_pages_are_few_and_reached() -> None:
    contents = (ROOT / "docs" / "index.md").read_text()
    pages = list((ROOT / "docs").glob("*.md"))
    assert len(pages) <= 24  # those in docs/settings are generated
    for page in pages:
        assert page.stem == "index" or re.search(rf"^(.* <)?{page.stem}>?$", contents, re.MULTILINE), page.name


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_site_builds_without_a_warning(tmp_path: Path) -> None:
    pytest.importorskip("furo")
    build = [sys.executable, "-m", "sphinx", "-b", "html", "-W", "--keep-going", "-q"]
    folders = ["-d", tmp_path / "doctrees", ROOT / "docs", tmp_path / "html"]
    done = subprocess.run([*build, *folders], capture_output=True, text=True, cwd=ROOT, check=False)
    assert done.returncode == 0
    assert done.stderr == ""
    assert (tmp_path / "html" / "api" / "histogram.html").is_file()
