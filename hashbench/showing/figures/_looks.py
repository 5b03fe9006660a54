"""The colour, marker and line style of each method, the same in all figures."""

from collections import Counter
from collections.abc import Mapping
from typing import Any
from zlib import crc32

# the palette of Okabe and Ito, which colour-blind readers can tell apart; brown for its yellow, too faint on white
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000", "#8C6D46")
MARKERS = "osD^vPX<>ph"  # 11 and 8 have no common factor: 88 methods have 88 pairs of colour and marker
LINE_STYLES = ("-", "--", "-.", ":")
N_LOOKS = len(COLOURS) * len(MARKERS)

# eight in a line have eight colours: those that figures show together; a new method is written at the end
OF_EIGHT = (
    "talr_ap talr_ndcg mihash hashnet dtsh dpsh fastap adsh",
    "csq dpn hbmp orthohash mds_centres jmlh greedyhash bihalf",
    "dhn dch dsh qsmi hswd idhn dbdh lcdsh",
    "structhash cgh bre splh itq agh spherical mdsh",
    "machash fasthash sth knnh sdh itq_cca ksh lsh",
    "fsdh hc_sdh cosdish lfh classifier_codes ce dfh dsdh",
    "sparse_hash sparse_th sparse_vq exhaustive_search random_ranking opq classifier pq",
    "bihalf_u greedyhash_u cibhash ssdh tbh imh isohash sgh",
    "ok_means harmonious cbe bilinear density_sensitive sklsh sign pca_sign",
    "spectral_hashing rabitq scalar turboquant",
)
METHODS = " ".join(OF_EIGHT).split()

Look = dict[str, Any]  # the color, marker and linestyle of a line


def look_of(method: str, variant: int = 0) -> Look:
    """The look of a method; another ``variant`` of it has its colour, another marker and another line style.

    A method of another package has one of the looks that no method of hashbench has, by its name.
    """
    if method in METHODS:
        number = METHODS.index(method)
    else:
        number = len(METHODS) + crc32(method.encode()) % (N_LOOKS - len(METHODS))
    style = LINE_STYLES[(number // len(COLOURS) + variant) % len(LINE_STYLES)]
    marker = MARKERS[(number + 3 * variant) % len(MARKERS)]
    return {"color": COLOURS[number % len(COLOURS)], "marker": marker, "linestyle": style}


def looks_of(methods: Mapping[str, str]) -> dict[str, Look]:
    """The look of each label, by the method that it is of."""
    looks: dict[str, Look] = {}
    n_variants: Counter[str] = Counter()
    for label, method in methods.items():
        looks[label] = look_of(method, n_variants[method])
        n_variants[method] += 1
    return looks
