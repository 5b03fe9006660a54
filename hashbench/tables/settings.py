"""The settings of a table's runs beside those that the authors printed or released, and why they differ."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from hashbench.datasets.card import Card
from hashbench.foundation.config import Setting, canonical_json
from hashbench.runs.name import RunName
from hashbench.runs.run import BASE, Run
from hashbench.runs.settings import Sourced, method_file, recipes
from hashbench.tables.spec import TableSpec, names_to_come

SIZES = ("bits", "k")  # settings that differ from column to column of a table


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
        known = recipes()
        return {name: known[name].why for name in sorted(name for name in named if name is not None)}

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
            some = () if len(sizes) == 1 else tuple(having)
            yield Entry(own.value, own.of_authors, source, own.note, some)


def settings_of_table(spec: TableSpec) -> list[Runs]:
    """The runs of all cells of a table, and those they start from, in order of appearance.

    Cells that use a name that does not exist yet are left out.
    """
    found: dict[str, Runs] = {}
    for cell in spec.cells:
        if names_to_come(cell, spec.to_come):
            continue
        run = Run.resolve(cell.dataset, cell.protocol, cell.method, cell.settings, budget=cell.budget)
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
    runs = found.setdefault(key, Runs(run.name, run.card, heading))
    runs.found.setdefault(size, _of_files(run, settings))


def _of_files(run: Run, settings: Mapping[str, Sourced]) -> dict[str, Sourced]:
    """The settings that the files of method and recipe give; those given by the table are in the heading."""
    known = run.method.settings.model_fields
    of_files = ("paper", "code", "ours", "recipe")
    return {key: each for key, each in settings.items() if key in known and each.source in of_files}
