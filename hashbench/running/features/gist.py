"""GIST: the energy of Gabor filters in the cells of a grid (Oliva and Torralba 2001), from the text of LMgist.m.

No output of the authors' code was available: a test compares it with a second, slow implementation of that text.
"""

from hashbench.foundation.errors import HashbenchError
from hashbench.running.features._catalogue import Extractor, FeatureModule

SCALES = 4
ORIENTATIONS = 8
GRID = 4
MOST_PIXELS = 128  # the default image size of LMgist; smaller images are not enlarged


def _build(item_shape: tuple[int, ...], _value_max: float | None) -> FeatureModule:
    """The contrast is stretched, so that the value of white has no effect."""
    if len(item_shape) != 3 or min(item_shape[:2]) < GRID:
        raise HashbenchError(f"gist takes images of {GRID} x {GRID} pixels or more, not items of shape {item_shape}")
    from hashbench.running.features import _gist

    side = min(*item_shape[:2], MOST_PIXELS)
    constants = {"image_size": side, "scales": SCALES, "orientations": ORIENTATIONS, "grid": GRID}
    constants |= {"prefilter_cycles": _gist.PREFILTER_CYCLES, "prefilter_pad": _gist.PREFILTER_PAD}
    others = {"contrast_floor": _gist.CONTRAST_FLOOR, "boundary": _gist.BOUNDARY, "grey": "mean of channels"}
    module = _gist.Gist(item_shape[:2], side, SCALES, ORIENTATIONS, GRID)
    return FeatureModule(module, SCALES * ORIENTATIONS * GRID**2, {**constants, **others})


EXTRACTOR = Extractor("GIST: 4 scales x 8 orientations x 4 x 4 cells of the grey image", _build, batch=64)
