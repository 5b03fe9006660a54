"""The description of an exported hash function, hashbench.json: what it takes, what it gives, and what made it."""

from math import prod
from pathlib import Path
from typing import Annotated, Final, Literal, get_args

from pydantic import Field, field_validator

from hashbench.foundation.config import Strict, Text, json_object, parse, read_text
from hashbench.foundation.errors import HashbenchError, printable, retold, unknown
from hashbench.foundation.files import file_sha256
from hashbench.foundation.provenance import Code
from hashbench.running.datasets.custom.expected import BYTE_MAX
from hashbench.scoring.codes import MAX_BITS

FILE = "hashbench.json"
FORMAT: Final = "hashbench-export"
VERSION: Final = 1
MOST_VALUES = 1 << 28  # of one item, as a card may state

Form = Literal["numpy", "onnx", "torch"]
FORMS: dict[str, Form] = {form: form for form in get_args(Form)}
Name = Annotated[str, Field(pattern=r"^[a-z_0-9]+$", max_length=60)]


def form_called(name: str) -> Form:
    """The form of this name; HashbenchError if there is none."""
    if name not in FORMS:
        raise unknown("form", name, FORMS)
    return FORMS[name]


class FeatureNetwork(Strict):
    """The network whose features are hashed, and the checksum of its weights, if it has any."""

    name: Text
    weights_sha256: Text | None
    is_inside: bool  # whether the file computes the features itself


class Input(Strict):
    """An item as the file takes it: of the data set, or its features."""

    shape: Annotated[list[Annotated[int, Field(ge=1)]], Field(min_length=1)]
    dtype: Annotated[str, Field(pattern="^(uint8|float16|float32)$")]
    value_max: Annotated[int, Field(ge=1, le=BYTE_MAX)] | None  # values are from 0 to it; None: any number
    features: FeatureNetwork | None = None
    unit_norm: bool = False  # whether it is a vector with norm 1

    @field_validator("shape")
    @classmethod
    def _fits_into_memory(cls, shape: list[int]) -> list[int]:
        if prod(shape) > MOST_VALUES:
            raise ValueError(f"at most {MOST_VALUES} values of an item are possible")
        return shape


class NamedStep(Strict):
    """An operation of ``hashbench.learning.steps``, and the names that its arrays have in the file of arrays."""

    operation: Name
    arrays: dict[Name, Name]


class Description(Strict):
    """All that a program needs to know; ``sha256`` has the checksum of each file but this one and README.md."""

    format: Literal["hashbench-export"]
    version: Annotated[int, Field(ge=VERSION, le=VERSION)]  # Literal[1] would take 1.0 and true
    form: Form
    run: Text
    method: Text
    dataset: Text
    protocol: Text
    code: Code  # that trained the run
    hashbench: Text  # the version that exported it
    bits: Annotated[int, Field(ge=1, le=MAX_BITS)]
    bit_order: Literal["big"] = "big"  # of packed codes: the first bit is the highest of the first byte
    input: Input
    scaling: Text  # what the file itself does to the values first
    outside: Text | None = None  # what it leaves to the caller
    arithmetic: Literal["float32", "float64"]
    steps: list[NamedStep] | None = None  # of the form numpy
    sha256: dict[Text, Text]


def read(folder: Path) -> Description:
    """The description of the export in ``folder``; HashbenchError if one of its files is damaged or missing."""
    path = folder / FILE
    with retold(lambda cause: f"{path}: damaged: {cause}", ValueError, FileNotFoundError):
        kept = json_object(read_text(path, "description of an export"))
    if kept.get("version") != VERSION:
        made_by = printable(str(kept.get("hashbench", "unknown")))
        version = printable(str(kept.get("version")))
        advice = "export the run again, or take that version"
        raise HashbenchError(
            f"{path}: format version {version} of hashbench {made_by}; {VERSION} is read here: {advice}"
        )
    description = parse(Description, kept, f"{path}: damaged")
    for name, sha256 in description.sha256.items():
        file = folder / Path(name).name
        if not file.is_file() or file_sha256(file) != sha256:
            raise HashbenchError(f"{file}: missing or damaged: {path} says its SHA-256: export the run again")
    return description
