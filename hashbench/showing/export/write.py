"""Writes the hash function of a stored run into a folder, in one of the forms, with its description and README.md."""

from pathlib import Path

import numpy as np

from hashbench.foundation import __version__
from hashbench.foundation.arrays import write_arrays
from hashbench.foundation.errors import HashbenchError, printable, retold
from hashbench.foundation.files import file_sha256
from hashbench.learning.contract import PIXELS, BinaryHasher, BitSettings, Hasher
from hashbench.learning.methods import require_torch
from hashbench.learning.steps import Steps
from hashbench.running.features import FeatureModule, model_and_weights, named
from hashbench.running.runs.data import has_unit_norm
from hashbench.running.runs.row import Row
from hashbench.running.runs.run import Run
from hashbench.showing.export import numpy_form, onnx_form
from hashbench.showing.export.description import FILE, FORMAT, VERSION, Description, FeatureNetwork, Form, Input
from hashbench.showing.export.folder import whole_folder
from hashbench.showing.export.readme import readme
from hashbench.showing.export.script import script

N_EXAMPLES = 2  # items with which a network is traced
SCRIPT = "encode.py"
README = "README.md"
SCALINGS = {
    "none": "none",
    "unit_norm": "minus the average training item, then each item divided by its norm",
    "channel_unit_norm": "each channel to mean 0 and variance 1, then each item divided by its norm",
    "channel": "each channel to mean 0 and variance 1; for a pretrained network images are resized first",
    "pixel_mean": "minus the average training item",
}


def export(row: Row, hasher: Hasher, form: Form, folder: Path) -> Description:
    """Writes the hash function of a stored run into the new ``folder``, as a whole or not at all."""
    run = Run.from_row(row)
    if not isinstance(hasher, BinaryHasher) or not isinstance(run.settings, BitSettings):
        raise HashbenchError(f"{row.run}: it makes no binary codes, and a hash function of bits is exported")
    if form == "onnx":
        onnx_form.require_extra()
    with whole_folder(folder) as part:
        if form == "numpy":
            description = _as_arrays(row, run, hasher, part)
        else:
            description = _as_network(row, run, hasher, form, part)
        (part / README).write_text(readme(description), encoding="utf-8")
        (part / FILE).write_text(description.model_dump_json(indent=1) + "\n", encoding="utf-8")
    return description


def _as_arrays(row: Row, run: Run, hasher: BinaryHasher, folder: Path) -> Description:
    """Writes the arrays of the steps and the script that applies them."""
    with retold(lambda cause: f"{row.run}: {cause}", HashbenchError):
        steps = hasher.as_steps()
    if steps is None:
        raise HashbenchError(f"{row.run}: its network has other layers than linear and kernel ones: --to onnx or torch")
    file = folder / numpy_form.FILE
    write_arrays(file, numpy_form.arrays_of(steps), "plain")
    features = _feature_module(run)
    description = _described(row, run, "numpy", features, steps)
    named = numpy_form.named_steps(steps)
    (folder / SCRIPT).write_text(numpy_form.script_of(description, named, file), encoding="utf-8")
    return _with_checksums(description.model_copy(update={"steps": named}), folder, numpy_form.FILE)


def _as_network(row: Row, run: Run, hasher: BinaryHasher, form: Form, folder: Path) -> Description:
    """Writes the whole hash function, features and preprocessing in it, as ONNX or as a program of PyTorch."""
    require_torch()
    from hashbench.showing.export import torch_form

    features = _feature_module(run)
    description = _described(row, run, form, features, hasher.as_steps())
    with retold(lambda cause: f"{row.run}: {cause}", HashbenchError):
        whole = torch_form.WholeHashFunction(hasher, features)
    taken = description.input
    example = np.zeros((N_EXAMPLES, *taken.shape), taken.dtype)
    module = onnx_form if form == "onnx" else torch_form
    file = folder / module.FILE

    def fault(cause: str) -> str:
        of_exporter = cause.rpartition("Failure message: ")[2]  # the rest is a page of advice
        return f"{row.run}: PyTorch cannot write it --to {form}: {printable(of_exporter, 200)}"

    with retold(fault):
        module.write(whole, example, file)
    (folder / SCRIPT).write_text(script(row.run, module.PROGRAM, file, taken, taken.dtype), encoding="utf-8")
    return _with_checksums(description, folder, module.FILE)


def _feature_module(run: Run) -> FeatureModule | None:
    """The network whose features the run hashes; None if it hashes the items themselves."""
    if run.settings.features == PIXELS:
        return None
    _, extractor = named(*model_and_weights(run.settings.features))
    return extractor.build(tuple(run.card.item_shape), run.card.value_max)


def _described(row: Row, run: Run, form: Form, features: FeatureModule | None, steps: Steps | None) -> Description:
    assert isinstance(run.settings, BitSettings)
    taken = _input(run, form, features)
    return Description(
        format=FORMAT,
        version=VERSION,
        form=form,
        run=row.run,
        method=row.method,
        dataset=row.dataset,
        protocol=row.protocol,
        code=row.code,
        hashbench=__version__,
        bits=run.settings.bits,
        input=taken,
        scaling=_scaling(run, taken),
        outside=_outside(run, taken),
        arithmetic="float32" if steps is None else steps.arithmetic,
        sha256={},
    )


def _input(run: Run, form: Form, features: FeatureModule | None) -> Input:
    """An item of the data set, or its features, which NumPy does not compute."""
    card = run.card
    if features is None:
        dtype = str(card.dtype)
        return Input(shape=card.item_shape, dtype=dtype, value_max=card.value_max, unit_norm=has_unit_norm(run))
    is_inside = form != "numpy"
    sha256 = features.constants.get("weights_sha256")
    network = FeatureNetwork(name=run.settings.features, weights_sha256=sha256, is_inside=is_inside)
    if is_inside:
        return Input(shape=card.item_shape, dtype=str(card.dtype), value_max=card.value_max, features=network)
    return Input(shape=[features.width], dtype=features.stored, value_max=None, features=network)


def _outside(run: Run, taken: Input) -> str | None:
    """The work that is left to the caller before items are given to the file; None if there is none."""
    if taken.features is not None and not taken.features.is_inside:
        return f"the features {taken.features.name} of items, from a network with the weights of this checksum"
    if taken.unit_norm:
        return "each vector is divided by its norm"
    if run.card.kind != "images":
        return None
    height_and_width = " x ".join(map(str, run.card.item_shape[:2]))
    return f"images are resized to {height_and_width}, bicubic, as Pillow does"


def _scaling(run: Run, taken: Input) -> str:
    """The scaling of the values of an item inside the file, in words."""
    scaling = SCALINGS[getattr(run.settings, "normalise", "none")]
    if run.method.needs_torch or taken.value_max in (None, 1) or taken.features is not None:
        return scaling
    over = f"divided by {taken.value_max}"
    if scaling == "none":
        return over
    return f"{over}, then {scaling}"


def _with_checksums(description: Description, folder: Path, file: str) -> Description:
    sums = {name: file_sha256(folder / name) for name in (file, SCRIPT)}
    return description.model_copy(update={"sha256": sums})
