"""How an entry is printed: its name, a sheet of facts, blocks of lines, and the commands to copy."""

from collections.abc import Iterable, Iterator, Mapping

from hashbench.cli._columns import in_columns, wrapped
from hashbench.foundation.config import Setting


def title(name: str, kind: str, text: str) -> Iterator[str]:
    """The first lines: what it is."""
    yield from wrapped("", f"{name} ({kind}): {text}")


def facts(facts: Mapping[str, object]) -> Iterator[str]:
    """A line for each fact that is known, after an empty one."""
    yield ""
    yield from in_columns((key, str(value)) for key, value in facts.items() if value not in (None, ""))


def block(heading: str, lines: Iterable[tuple[str, str]]) -> Iterator[str]:
    """A heading, after an empty line, and names with a text each; nothing where there are none."""
    listed = list(lines)
    if listed:
        yield from ("", heading)
        yield from in_columns(listed, "  ")


def commands(listed: Iterable[str]) -> Iterator[str]:
    """Commands to copy, so they are never wrapped."""
    yield ""
    yield from (f"$ {command}" for command in listed)


def paper(key: str) -> str:
    """The authors, year and title of a paper, and its key."""
    from hashbench.tables.papers import cited, papers

    entries = papers(broken=str)  # str: hashbench list papers says which entries are broken
    if key not in entries:
        return key
    authors = cited(key, entries)
    return ": ".join([*([] if authors == key else [authors]), f"{entries[key].title} [{key}]"])


def cite(key: str) -> str:
    """The authors and the year of a paper."""
    from hashbench.tables.papers import cited, papers

    return cited(key, papers(broken=str))


def setting(value: "Setting | None") -> str:
    """The value of a setting as --set takes it."""
    if value is None or value == "":
        return "-"
    return str(value).lower() if isinstance(value, bool) else str(value)


def settings(values: Mapping[str, Setting]) -> str:
    """Settings on one line."""
    return ", ".join(f"{key} {setting(value)}" for key, value in values.items())
