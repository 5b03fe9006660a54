"""Checks one run of a bundle: its row against its counts, its codes and its ids."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

import numpy as np

from hashbench.bundle.counts import read_histogram, read_retrieval
from hashbench.bundle.recount import NotHere, RunCodes, read_codes, relevance_here
from hashbench.bundle.report import Report
from hashbench.bundle.rescore import Values, computed, computed_of_rankings, differences, is_known
from hashbench.contract import CODES
from hashbench.datasets.split import Split
from hashbench.foundation.errors import FEW, HashbenchError, printable, quietly
from hashbench.histogram import Histogram
from hashbench.histogram.retrieval import Retrieval
from hashbench.relevance.labels import Relevance
from hashbench.runs.row import Artefact, Row, Search

T = TypeVar("T")
C = TypeVar("C", Histogram, Retrieval)


@dataclass(frozen=True)
class RunCheck:
    """The checks of the run of ``row``; ``files`` are copies of its files by name."""

    row: Row
    files: Mapping[str, Path]
    ids: Split | None
    report: Report
    compared: set[tuple[str, str]] = field(default_factory=set)  # the metrics so far: their search and their name

    def all(self) -> None:
        """All checks."""
        n_before = len(self.report.differences)
        histogram = self._stated(self._histogram("histogram.npz"), "histogram.npz", self.row.artefacts.get("histogram"))
        counted = self._codes()
        self._score("database", histogram or counted, CODES if histogram is None else "histogram.npz")
        self._retrieval("database", "retrieval")
        self._retrieval("test", "retrieval_of_test")
        of_test = self._tried(read_histogram, "histogram_of_test.npz")
        self._score("test", of_test, "histogram_of_test.npz")
        if self.files and len(self.report.differences) == n_before:
            self._say_not_compared()

    def _retrieval(self, of: Search, artefact: Artefact) -> None:
        """Scores a retrieval, if it is the one that the row states."""
        name = f"{artefact}.npz"
        retrieval = self._stated(self._tried(read_retrieval, name), name, self.row.artefacts.get(artefact))
        self.report.n_retrievals += retrieval is not None
        self._score(of, retrieval, name)

    def _say(self, what: str) -> None:
        self.report.differences.append(f"{self.row.run}: {what}")

    def _tried(self, read: Callable[[Path], T], name: str) -> T | None:
        """What ``read`` makes of a file; None if the run has none, or, after it was said, if it raises an error."""
        path = self.files.get(name)
        return None if path is None else self._asked(name, lambda: read(path))

    def _asked(self, name: str, does: Callable[[], T]) -> T | None:
        """What ``does`` returns; None, after it was said, if it raises an error about the file ``name``."""
        try:
            return quietly(name, does)
        except NotHere as error:
            self.report.not_checked.append(f"{self.row.run}: {name}: not counted again: {error}")
        except HashbenchError as error:
            self._say(printable(str(error).replace(f"{self.files[name].parent}/", ""), 400))
        return None

    def _stated(self, counts: C | None, name: str, stated: str | None) -> C | None:
        """The counts, if they are those that the row states."""
        if counts is not None and (sha256 := counts.sha256()) != stated:
            self._say(f"{name} is not what the row was scored from: SHA-256 is {sha256}, the row says {stated}")
            return None
        return counts

    def _histogram(self, name: str) -> Histogram | None:
        histogram = self._tried(read_histogram, name)
        if histogram is not None:
            self.report.n_histograms += 1
            n_items = int(histogram.counts[:1].sum())
            self._require_size(name, histogram.n_queries, n_items)
        return histogram

    def _require_size(self, name: str, n_queries: int, n_items: int) -> None:
        """Says where a file is of other numbers of queries and items than the id lists."""
        if self.ids is None or n_queries == 0:
            return
        listed = len(self.ids.query_ids), len(self.ids.database_ids)
        if (n_queries, n_items) != listed:
            self._say(
                f"{name} is of {n_queries} queries and {n_items} items, the id lists of {listed[0]} and {listed[1]}"
            )

    def _codes(self) -> Histogram | None:
        """The histogram of the codes, if it is that of the row; None too if there are no codes to count."""
        codes = self._tried(lambda path: read_codes(path, self.row), CODES)
        if codes is None:
            return None
        self._require_size(CODES, len(codes.query), len(codes.database))
        self._check_beside(codes)
        relevance = codes.relevance or self._asked(CODES, lambda: relevance_here(self.row, self.ids))
        if relevance is None:
            return None
        counted = self._asked(CODES, lambda: codes.histogram(relevance))
        if counted is None:
            return None
        self.report.n_codes += 1
        self._weighted(codes, relevance)
        stated = self.row.artefacts.get("histogram")
        if (sha256 := counted.sha256()) != stated:
            self._say(f"{CODES} gives another histogram: SHA-256 is {sha256}, the row says {stated}")
            return None
        return counted

    def _check_beside(self, codes: RunCodes) -> None:
        """The number of distinct codes, and the ids beside the codes."""
        stated = self.row.distinct_codes
        if stated is not None and codes.distinct != stated:
            found = codes.distinct
            self._say(
                f"distinct_codes are {stated.queries} and {stated.database}, "
                f"{CODES} gives {found.queries} and {found.database}"
            )
        for role, own in (("query_ids", codes.query_ids), ("database_ids", codes.database_ids)):
            if own is not None and self.ids is not None and not np.array_equal(own, getattr(self.ids, role)):
                self._say(f"{CODES}: {role} are not those of the id lists")

    def _weighted(self, codes: RunCodes, relevance: Relevance) -> None:
        """The metrics by the weighted Hamming distance, which no histogram gives."""
        stated, rankings = self.row.searches.get("weighted", {}), codes.weighted(relevance)
        if stated and rankings is None:
            self._say(f"{CODES} holds no weights of the bits, and the row has metrics by weighted distances")
        if not stated or rankings is None:
            return
        found = self._asked(CODES, lambda: computed_of_rankings(rankings, stated))
        self._compare("weighted", stated, found or {}, CODES)

    def _score(self, of: Search, counts: Histogram | Retrieval | None, name: str) -> None:
        """Computes the metrics of ``counts``, which ``name`` holds, and compares them with those ``of`` the row."""
        stated: Values = self.row.searches.get(of, {})
        if counts is not None:
            found = self._asked(name, lambda: computed(counts, stated))
            self._compare(of, stated, found or {}, name)

    def _compare(self, of: Search, stated: Values, found: Values, name: str) -> None:
        self.report.n_values += len(found)
        self.compared.update((of, each) for each in found)
        for line in differences(of, stated, found, name):
            self._say(line)

    def _say_not_compared(self) -> None:
        """Says which metrics this hashbench does not have, and of which of the others nothing is in the bundle."""
        stated = [(of, name) for of, values in self.row.searches.items() for name in values]
        held = [each for each in stated if each not in self.compared]
        for of, name in held:
            if not is_known(name):
                self.report.not_checked.append(f"{self.row.run}: {of}.{printable(name)}: no metric of this name")
        if left := [f"{of}.{name}" for of, name in held if is_known(name)]:
            named = ", ".join(left[:FEW]) + (", ..." if len(left) > FEW else "")
            self.report.not_checked.append(f"{self.row.run}: {named}: nothing that gives them is in the bundle")
