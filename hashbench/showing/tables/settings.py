"""The settings of a table's runs beside those that the authors printed or released, and why they differ."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from hashbench.foundation.config import Setting, canonical_json
from hashbench.running.datasets.card import Card
from hashbench.running.runs.row import IMPORTED
from hashbench.running.runs.run import BASE, Run, RunName
from hashbench.running.runs.settings import Sourced, method_file, recipes
from hashbench.showing.sheet import Cell, Code, Grid, Sheet, Text
from hashbench.showing.tables.cell_runs import run_of
from hashbench.showing.tables.spec import TableSpec

SIZES = {"bits": "{} bits", "k": "k = {}"}  # settings that differ from column to column of a table, in words
HEADING = ("setting", "ours", "released", "source", "where it comes from, and why it differs")


@dataclass(frozen=True)
class Entry:
    """One value of a setting: ours, with its source, and the authors' (None: none is known).

    ``sizes`` are the sizes of the codes that have it; empty: all. ``note`` also says why the two differ.
    """

    value: Setting | None
    released: Setting | None
    source: str
    note: str
    sizes: Sequence[str]

    @property
    def differs(self) -> bool:
        """Whether ours is another value than the authors'."""
        return self.value != self.released


@dataclass
class Runs:
    """The runs of one method on one data set that differ in the size of their codes only."""

    name: RunName  # of one of them
    card: Card
    stated: dict[str, Setting]  # by the table itself, such as the network
    # size -> setting -> value: the other settings, without those at a default of the program
    by_size: dict[str, dict[str, Sourced]] = field(default_factory=dict)

    @property
    def title(self) -> str:
        """The method, what it is trained on, and what the table gives."""
        where = f"{self.card.title.partition(':')[0]}, protocol {self.name.protocol}"
        title = f"{method_file(self.name.method).title} on {where}"
        if not self.stated:
            return title
        return f"{title} ({', '.join(f'{key} = {value}' for key, value in self.stated.items())})"

    def recipes(self) -> dict[str, str]:
        """The recipes that give some of the settings, with the reason for each."""
        named = {setting.recipe for settings in self.by_size.values() for setting in settings.values()}
        return {name: recipes()[name].why for name in sorted(name for name in named if name is not None)}

    def entries(self) -> dict[str, list[Entry]]:
        """The values of each setting, one for each group of sizes that share it."""
        sizes: dict[str, dict[Sourced, list[str]]] = {}
        for size, settings in self.by_size.items():
            for name, setting in settings.items():
                sizes.setdefault(name, {}).setdefault(setting, []).append(size)
        entries: dict[str, list[Entry]] = {}
        for name, sizes_by_setting in sizes.items():
            is_one = len(sizes_by_setting) == 1
            for setting, sizes_of_setting in sizes_by_setting.items():
                source: str = setting.source
                if setting.recipe is not None:
                    source = f"recipe {setting.recipe}"
                shown = [] if is_one else sizes_of_setting
                entry = Entry(setting.value, setting.of_authors, source, setting.note, shown)
                entries.setdefault(name, []).append(entry)
        return entries

    def as_values(self) -> dict[str, Any]:
        """The runs as --json prints them."""
        entries = {name: [asdict(entry) for entry in of_name] for name, of_name in self.entries().items()}
        named = {key: getattr(self.name, key) for key in ("method", "dataset", "protocol", "budget")}
        return {"title": self.title, **named, "given": self.stated, "recipes": self.recipes(), "settings": entries}

    def sheet(self) -> Sheet:
        """The reasons for the recipes, and a row for each value of a setting."""
        reasons = [("Recipe ", Code(name), f": {why}.") for name, why in self.recipes().items()]
        rows: list[list[Cell]] = []
        for name, entries in self.entries().items():
            for entry in entries:
                setting: Text = (Code(name),)
                if entry.sizes:
                    setting = (Code(name), f" ({', '.join(entry.sizes)})")
                released = _shown(entry.released) if entry.differs else "same"
                rows.append([setting, _shown(entry.value), released, entry.source, entry.note])
        return Sheet(self.title, [Grid(rows, HEADING)], reasons)


def sheet_of_settings(spec: TableSpec) -> Sheet:
    """A part with a table of settings for each method and data set."""
    parts = settings_of_table(spec)
    introduction = (
        "The settings of the runs of the table ",
        Code(spec.name),
        ", beside those that the authors printed or released. ",
        Code(f"hashbench list settings {spec.name}"),
        " prints them. Paper and code are the authors'; ours was chosen here. ",
        "A released value is given where it is not the one used; - means that none is known. ",
        "Settings at a default of the program are left out.",
    )
    return Sheet(
        spec.title,
        texts=[introduction],
        parts=[runs.sheet() for runs in parts],
        values=lambda: {"table": spec.name, "runs": [runs.as_values() for runs in parts]},
    )


def settings_of_table(spec: TableSpec) -> list[Runs]:
    """The runs of all cells that can be run, and those they start from, in order of appearance."""
    runs: dict[str, Runs] = {}
    for cell in spec.cells:
        # the settings of codes made elsewhere are not known
        if cell.budget != IMPORTED and spec.is_installed(cell):
            run = run_of(cell)
            stated = dict(cell.settings)
            if cell.recipe is not None:
                stated["recipe"] = cell.recipe
            _add(runs, run, stated, run.sources)
    return list(runs.values())


def _add(runs: dict[str, Runs], run: Run, stated: Mapping[str, Setting], settings: Mapping[str, Sourced]) -> None:
    if run.base is not None and (base := run.method.base) is not None:
        following = base.settings(run.settings) or {}
        named = {key: following[key] for key in following if key in run.base.method.identity}
        of_base = {key.removeprefix(BASE): setting for key, setting in settings.items() if key.startswith(BASE)}
        _add(runs, run.base, named, of_base)
    size = ", ".join(words.format(stated[key]) for key, words in SIZES.items() if key in stated)
    heading = {key: value for key, value in stated.items() if key not in SIZES}
    name = run.name
    key = canonical_json([name.method, name.dataset, name.protocol, name.budget, heading])
    # those of the files of method and recipe; those that the table gives are in the heading
    of_files = ("paper", "code", "ours", "recipe")
    fields = run.method.settings.model_fields
    shown = {key: setting for key, setting in settings.items() if key in fields and setting.source in of_files}
    runs.setdefault(key, Runs(name, run.card, heading)).by_size.setdefault(size, shown)


def _shown(value: Setting | None) -> str:
    """A value as it is written: ``-`` for none.

    >>> [_shown(value) for value in (0.0005, True, "step", None, "", 9.523809523809524e-4)]
    ['0.0005', 'true', 'step', '-', '-', '0.000952381']
    """
    if value in (None, ""):
        return "-"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float):
        return f"{value:g}"
    return str(value)
