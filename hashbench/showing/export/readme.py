"""The README.md of an export: ten lines that say what its file takes and gives, and how it is used."""

from hashbench.showing.export.description import FILE, Description

RUN_WITH = {
    "numpy": "NumPy alone",
    "onnx": "NumPy and onnxruntime",
    "torch": "NumPy and PyTorch",
}


def readme(description: Description) -> str:
    """The text of README.md."""
    taken = description.input
    shape = ", ".join(map(str, taken.shape))
    values = "any values"
    if taken.value_max is not None:
        values = f"values 0 to {taken.value_max}"
    outside = description.outside or "nothing"
    code = f"hashbench {description.code.version}"
    if description.code.commit is not None:
        code += f", commit {description.code.commit[:10]}"
    packs = "numpy.packbits(bits, axis=1) packs them, the first bit highest"
    if description.bits % 8:
        packs += f"; {-description.bits % 8} bits of 0 fill the last byte"
    lines = [
        f"# {description.run}: a hash function of {description.bits} bits",
        "",
        f"- {description.method} on {description.dataset}, protocol {description.protocol}; trained by {code}.",
        f"- Input: {taken.dtype} [n, {shape}], {values}{_of_features(description)}.",
        f"- Output: bits, uint8 [n, {description.bits}] of 0 and 1: a bit is 1 where its activation is above 0.",
        f"- Packing: {packs}.",
        f"- Inside: scaling ({description.scaling}), in {description.arithmetic}. Outside: {outside}.",
        f"- With {RUN_WITH[description.form]}: python encode.py ITEMS.npy CODES.npy",
        _with_hashbench(description),
        f"- {FILE} says this to programs; it has the SHA-256 of the other files.",
    ]
    return "\n".join(lines) + "\n"


def _of_features(description: Description) -> str:
    features = description.input.features
    if features is None:
        return ""
    text = f"; feature network {features.name}"
    if features.weights_sha256 is not None:
        text += f", weights {features.weights_sha256[:12]}"
    if features.is_inside:
        return f"{text}, computed inside"
    return f"{text}, these are its outputs"


def _with_hashbench(description: Description) -> str:
    if description.form == "torch":
        items = f"items, a {description.input.dtype} tensor"
        return (
            f'- In Python: torch.export.load("hash.pt2").module()(items) gives the bits and the activations of {items}.'
        )
    return '- With hashbench: hashbench.load("THIS FOLDER").encode(items), .search(items, k, database=codes).'
