"""What a search of settings is asked, and the stored search of a name: no table shows the queries that choose."""

import math
import re
from collections.abc import Sequence

from hashbench.foundation.config import Setting
from hashbench.foundation.errors import HashbenchError, unknown
from hashbench.foundation.progress import note
from hashbench.foundation.registry import canonical
from hashbench.learning.methods import METHODS
from hashbench.running.datasets.card import Card, cards, load_card
from hashbench.running.datasets.protocol import N_SPLITS
from hashbench.running.runs.settings import FORM, recipes
from hashbench.running.runs.space import Space, same_points
from hashbench.running.tuning.recipe import require_use
from hashbench.running.tuning.run import features_of
from hashbench.running.tuning.search import METRIC, NAME, Question, Search, path_of, space_of
from hashbench.scoring.metrics import NamedMetric
from hashbench.showing.tables import spec

BITS = 32  # of codes, unless other ones are asked for


def question_of(
    names: Sequence[str], protocol: str | None, recipe: str | None, settings: dict[str, Setting], metric: str = METRIC
) -> Question:
    """What a search of these methods and data sets is asked; HashbenchError where a name or setting is wrong."""
    methods = [canonical(name) for name in names if canonical(name) in METHODS.names]
    datasets = [load_card(name) for name in names if canonical(name) not in METHODS.names]
    if not methods:
        raise HashbenchError(f"a method is missing: one of {', '.join(METHODS.names)}")
    if not datasets:
        raise HashbenchError(f"a data set is missing: one of {', '.join(cards())}")
    if recipe is not None:
        recipe = canonical(recipe)
        settings = _with_network(recipe, settings, datasets[0].name)
        protocol = protocol or recipes()[recipe].when.protocol
    _require_settings(methods, settings)
    for card in datasets:
        protocol = card.protocol_name(protocol)
        card.protocol(protocol)
    is_custom = any(card.custom for card in datasets)
    if is_custom:
        settings = {"model": "linear", **settings}
    settings, fewer_bits = _with_bits(datasets, settings)
    question = Question(
        protocol=str(protocol),
        left_out={card.name: spec.shown_protocols(card, str(protocol)) for card in datasets},
        splits=1 if is_custom else N_SPLITS,  # of a custom data set tables show one
        recipe=recipe,
        metric=str(NamedMetric.parse(metric)),
        settings=settings,
        fewer_bits=fewer_bits,
        spaces={},
    )
    spaces: dict[str, Space] = {}
    features: set[str] = set()
    fixed = {*settings}
    if "model" in settings:
        fixed.add(FORM)
    for method in methods:
        run = question.run(method, {}, datasets[0].name, 0)
        features.add(run.settings.features)
        if recipe is not None:
            require_use(recipe, run)
        spaces[method] = {key: values for key, values in space_of(run).items() if key not in fixed}
    if len(features) == 1 and all(card.custom and card.kind == "images" for card in datasets):
        settings = {**settings, "features": features.pop()}  # the data's default: stated, so that every output has it
    return question.model_copy(update={"spaces": spaces, "settings": settings})


def _with_network(recipe: str, settings: dict[str, Setting], dataset: str) -> dict[str, Setting]:
    """The settings with the network and the features of the recipe, where they name none."""
    if recipe not in recipes():
        raise unknown("recipe", recipe, recipes())
    when = recipes()[recipe].when
    settings = dict(settings)
    if when.model:
        settings = {"model": when.model, **settings}
    if when.features is not None:
        settings.setdefault("features", features_of(when.features, dataset))
    return settings


def _with_bits(datasets: Sequence[Card], settings: dict[str, Setting]) -> tuple[dict[str, Setting], dict[str, int]]:
    """The settings with a code length, and the bits of those of several data sets whose items have fewer numbers."""
    widths: dict[str, int] = {}
    if "features" not in settings:
        widths = {card.name: math.prod(card.item_shape) for card in datasets if card.kind == "features"}
    if len(datasets) == 1:
        return {"bits": min([BITS, *widths.values()]), **settings}, {}
    settings = {"bits": BITS, **settings}
    return settings, {name: n for name, n in widths.items() if n < int(settings["bits"])}


def _require_settings(methods: Sequence[str], settings: dict[str, Setting]) -> None:
    """Raises HashbenchError for a method without codes of so many bits, or a setting that none of the methods has."""
    known = {"model"}
    for method in methods:
        if METHODS.get(method).group not in ("deep", "shallow", "quantisation"):
            raise HashbenchError(f"{method} makes no binary codes, which are compared here")
        known |= METHODS.get(method).settings.model_fields.keys()
    for key in settings:
        if key not in known:
            raise unknown(f"setting of {', '.join(methods)}", key, known)


def name_of(question: Question) -> str:
    """The name of a search that is given none: of its recipe, or of its data, protocol and bits; and of its metric."""
    data = f"{'_'.join(question.left_out)}_{question.protocol}_{question.settings['bits']}b"
    name = question.recipe or data
    if question.metric == METRIC:
        return name
    return name + re.sub(r"\W+", "_", f"_{question.metric}")


def search_called(name: str, question: Question) -> Search:
    """The stored search of this name, with the methods of ``question`` too; HashbenchError if it is another one.

    It goes on with the queries that it left out when it began, so that all its methods have the same trials.
    """
    if not NAME.fullmatch(name) or name in spec.names():
        raise HashbenchError(f"--name {name}: letters, digits, _, - and dots are expected, and no name of a table")
    stored = Search.load(name)
    if stored is None:
        return Search(name, question)
    for key in ("protocol", "splits", "datasets", "recipe", "settings", "fewer_bits", "metric"):
        before = getattr(stored.question, key)
        now = getattr(question, key)
        if before != now:
            raise HashbenchError(f"{path_of(name)}: its {key} is {before}, not {now}: give this search another --name")
    for dataset, protocols in question.left_out.items():
        if newer := sorted({*protocols} - {*stored.question.left_out[dataset]}):
            shown = f"queries of {dataset} {', '.join(newer)}, which tables show now"
            note(f"{name}: {shown}, may be in its lists, as when it began; a new --name leaves them out")
    for method in stored.question.spaces.keys() & question.spaces.keys():
        if not same_points(stored.question.spaces[method], question.spaces[method]):
            fault = f"its space of {method} is not the one of today's file or --set"
            raise HashbenchError(f"{path_of(name)}: {fault}: give this search another --name")
    spaces = {**stored.question.spaces, **question.spaces}
    return Search(name, stored.question.model_copy(update={"spaces": spaces}), stored.trials)
