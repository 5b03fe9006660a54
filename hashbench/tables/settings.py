"""The settings of a table's runs beside those that the authors printed or released, and why they differ."""

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from hashbench.datasets.card import Card
from hashbench.foundation.config import Setting, canonical_json
from hashbench.runs.name import RunName
from hashbench.runs.run import BASE, Run
from hashbench.runs.settings import Sourced, method_file, recipes
from hashbench.tables.cell_runs import run_of
from hashbench.tables.render_markdown import escape
from hashbench.tables.spec import TableSpec, names_to_come

SIZES = ("bits", "k")  # settings that differ from column to column of a table
HEADING = ("setting", "ours", "released", "source", "where it comes from, and why it differs")
INTRODUCTION = (
    "The settings of the runs of the table `{0}`, beside those that the authors printed or released. "
    "`hashbench list settings --table {0}` prints them. *paper* and *code* are the authors'; *ours* was chosen here. A "
    "released value is given where it is not the one used; `-` means that none is known. Settings at a default of the "
    "program are left out."
)


@dataclass(frozen=True)
class Entry:
    """One value of a setting: ours, the authors' (None: none is known), and the sizes of the codes that have it.

    ``sizes`` is empty if all have it. ``source`` is where ours comes from; ``note`` says more, and why the two differ.
    """

    value: Setting | None
    released: Setting | None
    source: str
    note: str
    sizes: tuple[str, ...] = ()

    @property
    def differs(self) -> bool:
        """Whether ours is not known to be the authors'."""
        return self.value != self.released


@dataclass
class Runs:
    """The runs of one method on one data set that differ in the size of their codes only.

    ``given`` are the settings that the table itself gives, such as the network. ``found`` holds the other settings of
    each size, by name, without those at a default of the program.
    """

    name: RunName  # of one of them
    card: Card
    given: dict[str, Setting]
    found: dict[str, dict[str, Sourced]] = field(default_factory=dict)  # size -> setting -> value

    @property
    def title(self) -> str:
        """The method, what it is trained on, and what the table gives."""
        given = ", ".join(f"{key} = {value}" for key, value in self.given.items())
        where = f"{self.card.title.partition(':')[0]}, protocol {self.name.protocol}"
        return f"{method_file(self.name.method).title} on {where}" + (f" ({given})" if given else "")

    def recipes(self) -> dict[str, str]:
        """The recipes that give some of the settings, with the reason for each."""
        named = {each.recipe for settings in self.found.values() for each in settings.values()}
        return {name: recipes()[name].why for name in sorted(name for name in named if name is not None)}

    def entries(self) -> dict[str, list[Entry]]:
        """The values of each setting, one for each group of sizes that share it."""
        names = dict.fromkeys(name for settings in self.found.values() for name in settings)
        return {name: list(self._entries_of(name)) for name in names}

    def _entries_of(self, name: str) -> Iterator[Entry]:
        sizes: dict[Sourced, list[str]] = {}
        for size, settings in self.found.items():
            sizes.setdefault(settings[name], []).append(size)
        for own, having in sizes.items():
            source = own.source if own.recipe is None else f"recipe {own.recipe}"
            yield Entry(own.value, own.of_authors, source, own.note, () if len(sizes) == 1 else tuple(having))

    def lines(self) -> Iterator[tuple[str, str]]:
        """The name of each setting, with the sizes that have the value, and the value with its source."""
        for name, each in self._named_entries():
            sizes = f" [{', '.join(each.sizes)}]" if each.sizes else ""
            released = f" (released: {_shown(each.released)})" if each.differs and each.released is not None else ""
            note = f": {each.note}" if each.note else ""
            yield f"{name}{sizes}", f"{_shown(each.value)}{released}; {each.source}{note}"

    def _named_entries(self) -> Iterator[tuple[str, Entry]]:
        return ((name, each) for name, entries in self.entries().items() for each in entries)

    def as_values(self) -> dict[str, Any]:
        """The runs as --json prints them."""
        entries = {name: [asdict(each) for each in found] for name, found in self.entries().items()}
        named = {key: getattr(self.name, key) for key in ("method", "dataset", "protocol", "budget")}
        return {"title": self.title, **named, "given": self.given, "recipes": self.recipes(), "settings": entries}

    def markdown(self) -> str:
        """A heading, the reasons for the recipes, and a table of the settings."""
        reasons = [f"Recipe `{name}`: {escape(why)}." for name, why in self.recipes().items()]
        lines = [HEADING, ("---",) * len(HEADING)]
        for name, each in self._named_entries():
            sizes = f" ({', '.join(each.sizes)})" if each.sizes else ""
            released = _shown(each.released) if each.differs else "same"
            lines.append((f"`{name}`{sizes}", _shown(each.value), released, escape(each.source), escape(each.note)))
        grid = "\n".join(f"| {' | '.join(cells)} |" for cells in lines)
        return "\n\n".join([f"## {escape(self.title)}", *reasons, grid])


def render_settings(spec: TableSpec) -> str:
    """One page of Markdown: a table of settings for each method and data set."""
    blocks = [f"# {escape(spec.title)}", INTRODUCTION.format(spec.name)]
    return "\n\n".join([*blocks, *(runs.markdown() for runs in settings_of_table(spec))]) + "\n"


def settings_of_table(spec: TableSpec) -> list[Runs]:
    """The runs of all cells of a table, and those they start from, in order of appearance.

    Cells that use a name that does not exist yet are left out.
    """
    found: dict[str, Runs] = {}
    for cell in spec.cells:
        if not names_to_come(cell, spec.to_come):
            run = run_of(cell)
            _add(found, run, cell.settings, run.sources(cell.settings))
    return list(found.values())


def _add(found: dict[str, Runs], run: Run, given: Mapping[str, Setting], settings: Mapping[str, Sourced]) -> None:
    """Adds ``run`` and the run of its base to the runs that were ``found``."""
    base = run.method.base
    if run.base is not None and base is not None:
        following = base.settings(run.settings) or {}
        named = {key: following[key] for key in following if key in run.base.method.identity}
        of_base = {key.removeprefix(BASE): each for key, each in settings.items() if key.startswith(BASE)}
        _add(found, run.base, named, of_base)
    size = ", ".join(f"{given[key]} bits" if key == "bits" else f"k = {given[key]}" for key in SIZES if key in given)
    heading = {key: value for key, value in given.items() if key not in SIZES}
    name = run.name
    key = canonical_json([name.method, name.dataset, name.protocol, name.budget, heading])
    # those of the files of method and recipe; those that the table gives are in the heading
    known, of_files = run.method.settings.model_fields, ("paper", "code", "ours", "recipe")
    shown = {key: each for key, each in settings.items() if key in known and each.source in of_files}
    found.setdefault(key, Runs(run.name, run.card, heading)).found.setdefault(size, shown)


def _shown(value: Setting | None) -> str:
    """A value as it is written: ``-`` for none.

    >>> [_shown(value) for value in (0.0005, True, "step", None, "", 9.523809523809524e-4)]
    ['0.0005', 'true', 'step', '-', '-', '0.000952381']
    """
    if value in (None, ""):
        return "-"
    if isinstance(value, bool):
        return str(value).lower()
    return f"{value:g}" if isinstance(value, float) else str(value)
