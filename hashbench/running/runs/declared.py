"""What is declared of a method: its settings with their sources, and the other values that some runs have."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from hashbench.foundation.config import Setting
from hashbench.learning.methods import METHODS
from hashbench.running.runs.settings import Parameters, method_file, tuned


@dataclass(frozen=True)
class OtherValues:
    """The settings of the runs that match ``conditions``, such as a data set or a recipe, and ``why``."""

    conditions: Mapping[str, str]
    values: Mapping[str, Setting]
    why: str


def settings_of(method: str) -> dict[str, dict[str, Any]]:
    """All settings: first those that are required, then those that the file gives, then those with a default."""
    stated = {key: setting.model_dump(exclude_none=True) for key, setting in method_file(method).parameters.items()}
    required: dict[str, dict[str, Any]] = {}
    defaults: dict[str, dict[str, Any]] = {}
    for key, field in METHODS.get(method).settings.model_fields.items():
        if key not in stated and field.is_required():
            required[key] = {"value": None, "source": "required", "note": ""}
        elif key not in stated:
            defaults[key] = {"value": field.default, "source": "default", "note": ""}
    return {**required, **stated, **defaults}


def other_values_of(method: str) -> list[OtherValues]:
    """Those of the variants in its file, and those to which recipes tune it."""
    of_variants = [_other(v.when.names, v.parameters, v.why) for v in method_file(method).variants]
    return of_variants + [_other({"recipe": name}, t.parameters, t.reason) for name, t in tuned(method).items()]


def _other(conditions: Mapping[str, str], parameters: Parameters, why: str) -> OtherValues:
    return OtherValues(conditions, {key: parameter.value for key, parameter in parameters.items()}, why)
