"""The grammar of a metric's name, ``name[(key=value,...)][@k | @rR | @r]``, and other names of metrics."""

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Literal

from hashbench.foundation.errors import HashbenchError
from hashbench.foundation.registry import canonical

CutoffKind = Literal["rank", "radius", "n_relevant"]

NAME = re.compile(r"\s*([A-Za-z][\w-]*)\s*(?:\(([^()]*)\))?\s*(?:@\s*(.*?))?\s*(\(retrieved\))?\s*")
AP_OF_RETRIEVED = re.compile(r"ap\(norm=retrieved\)@(\d+)")  # what hashing papers call mAP@k
CUTOFF = re.compile(r"(r?)([0-9]{0,18})")  # 18 digits fit an int64
COMMA = re.compile(r",(?![^()]*\))")  # outside parentheses


@dataclass(frozen=True)
class Cutoff:
    """Where a metric stops reading: at rank k, at Hamming radius R, or at rank N^+ (the query's relevant items)."""

    kind: CutoffKind
    value: int = 0  # the rank k or the radius R; unused for n_relevant

    def __str__(self) -> str:
        return {"rank": f"@{self.value}", "radius": f"@r{self.value}", "n_relevant": "@r"}[self.kind]


@dataclass(frozen=True)
class MetricName:
    """A metric with its parameters and its cutoff; ``str()`` is the canonical name, and ``read`` reads it back."""

    metric: str
    parameters: tuple[tuple[str, str], ...] = ()  # (key, value) that are not defaults, sorted by key
    cutoff: Cutoff | None = None

    def __str__(self) -> str:
        inner = ",".join(f"{key}={value}" for key, value in self.parameters)
        if inner:
            inner = f"({inner})"
        return f"{self.metric}{inner}{self.cutoff or ''}"

    @staticmethod
    @lru_cache
    def read(text: str) -> "MetricName":
        """The parts of a metric's name as they are written; raises HashbenchError if it does not follow the grammar."""
        match = NAME.fullmatch(text)
        if match is None:
            raise HashbenchError(f"metric {text!r} is not written name, name@100, name@r2 or name(key=value)@100")
        stem, inner, cutoff, is_shown = match.groups()  # as ``shown`` writes it: map@1000 (retrieved)
        if is_shown:
            inner = ",".join(filter(None, (inner, "norm=retrieved")))
        parameters = () if inner is None else _parameters(inner, text)
        return MetricName(canonical(stem), parameters, None if cutoff is None else _cutoff(cutoff, text))

    def own(self) -> "MetricName":
        """The name by hashbench's word: ``ap`` for ``map``, divided as in papers; HashbenchError for ``r@k``."""
        if self.metric in ("rprec", "r_precision") and self.cutoff is None:
            return replace(self, metric="precision", cutoff=Cutoff("n_relevant"))
        if self.metric == "map" and self.cutoff is not None and self.cutoff.kind == "rank" and not self.parameters:
            return replace(self, metric="ap", parameters=(("norm", "retrieved"),))
        if self.metric in ("r", "hit", "hits", "hit_rate", "success"):
            raise HashbenchError(
                f"metric '{self}': recall@k is the share of the relevant items that is retrieved; the share of queries "
                "whose first item is relevant (R@1 of metric learning, hit@1) is precision@1"
            )
        return replace(self, metric={"map": "ap", "p": "precision", "rr": "mrr"}.get(self.metric, self.metric))


def shown(name: str) -> str:
    """The canonical ``name`` of a metric, or of one behind a heading, as a report for people writes it.

    >>> shown("ap(norm=retrieved)@1000"), shown("ap@1000")
    ('map@1000 (retrieved)', 'ap@1000')
    """
    return AP_OF_RETRIEVED.sub(r"map@\1 (retrieved)", name)


def split_names(written: str | Iterable[str]) -> list[str]:
    """The names in one text or several; in parentheses a comma belongs to a name, a cutoff alone repeats the metric."""
    names: list[str] = []
    if isinstance(written, str):
        written = [written]
    for text in written:
        metric = ""  # that of the name before, if it has a cutoff
        for part in map(str.strip, COMMA.split(text)):
            repeats = metric and part and CUTOFF.fullmatch(part.lower())
            names.append(f"{metric}@{part}" if repeats else part)
            metric = names[-1].rpartition("@")[0]
    return names


def _parameters(inner: str, text: str) -> tuple[tuple[str, str], ...]:
    pairs = [tuple(part.strip().lower() for part in item.split("=")) for item in inner.split(",")]
    if not all(len(pair) == 2 and all(pair) for pair in pairs):
        raise HashbenchError(f"metric {text!r}: parameters are written key=value, as in ap(norm=min)@100")
    key, times = Counter(pair[0] for pair in pairs).most_common(1)[0]
    if times > 1:
        raise HashbenchError(f"metric {text!r}: parameter {key!r} is given {times} times; once is right")
    return tuple(sorted((key, value) for key, value in pairs))


def _cutoff(written: str, text: str) -> Cutoff:
    match = CUTOFF.fullmatch(written.lower())
    if match is None or written == "":
        raise HashbenchError(f"metric {text!r}: after @ comes a whole number from 1 (a rank), or r2 (a Hamming radius)")
    radius, digits = match.groups()
    if radius:
        if not digits:
            return Cutoff("n_relevant")
        return Cutoff("radius", int(digits))
    if int(digits) == 0:
        raise HashbenchError(f"metric {text!r}: the cutoff is a rank from 1 on; 0 ranks hold nothing")
    return Cutoff("rank", int(digits))
