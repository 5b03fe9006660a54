"""The report as text for a terminal."""

from collections.abc import Sequence

from hashbench.evaluation import diagnostics
from hashbench.evaluation.diagnostics import CodeDiagnostics
from hashbench.evaluation.report._evaluation import ConventionScores, Evaluation, Leak
from hashbench.evaluation.scores import Scores, number, table

LISTED = 8  # at most so many bits are listed by number
INDENT = 9


def as_text(found: Evaluation) -> str:
    """The report: scores with their range over the orders of tied items, then queries, codes, bits and leaks."""
    scores = found.scores
    parts = {
        "queries": _queries(found),
        "codes": _codes(found),
        "bits": _bits(found.database_codes),
        "leak": _leak(found.leak),
    }
    return "\n".join(
        [
            f"{found.source}: {scores.n_queries} queries, {scores.n_database} items, {scores.n_bits} bits",
            *([] if scores.ties == "expected" else [f"ties: {_ties(scores)}"]),
            *([f"{found.n_excluded:,} queries are left out of their own ranking"] if found.n_excluded else []),
            table(scores),
            *(line for other in found.conventions for line in _convention_scores(other)),
            "",
            *(f"{name:<{INDENT}}{line}" for name, lines in parts.items() for name, line in _labelled(name, lines)),
        ]
    )


def _convention_scores(other: ConventionScores) -> list[str]:
    """The values of a convention, with a warning at those that depend on an unstable sort."""
    lines = ["", f"as {other.convention}: {other.source}", f"    {other.summary}"]
    width = max(map(len, other.figures), default=0)
    for name, printed in other.figures.items():
        machine = "  on this machine: its sort is not stable" if printed.of_this_machine else ""
        lines.append(f"    {name:<{width}}  {number(printed.value)}{machine}")
    return lines


def _labelled(name: str, lines: Sequence[str]) -> list[tuple[str, str]]:
    return [(name if index == 0 else "", line) for index, line in enumerate(lines)]


def _ties(scores: Scores) -> str:
    return {"order": "in database order", "best": "best order", "worst": "worst order"}[scores.ties]


def _queries(found: Evaluation) -> list[str]:
    seen = found.queries
    fate = "score 0" if found.scores.empty == "zero" else "left out"
    without = f"{seen.without_relevant:,} have no relevant item" + (f" ({fate})" if seen.without_relevant else "")
    lines = [f"{without}; {seen.empty_balls:,} find nothing within Hamming radius {seen.radius}"]
    if any(found.without_class):
        queries, items = found.without_class
        lines.append(f"{queries:,} queries and {items:,} items have no class: a negative class id, or no label")
    return lines


def _codes(found: Evaluation) -> list[str]:
    def distinct(of: CodeDiagnostics, what: str) -> str:
        many = f"{of.n_distinct:,}" if of.n_distinct is not None else f"over {most:,}"
        return f"{many} distinct among {of.n_items:,} {what}"

    most = diagnostics.DISTINCT_LIMIT // -(-found.scores.n_bits // 64)

    return [f"{distinct(found.database_codes, 'items')}, {distinct(found.query_codes, 'queries')}"]


def _bits(of: CodeDiagnostics) -> list[str]:
    dead = _listed([str(bit) for bit in of.dead])
    duplicate = _listed([f"{bit} as {earlier}" for bit, earlier in of.duplicates])
    share = of.ones
    ones = f"share of ones: {share.min():.2f} to {share.max():.2f}, {share.mean():.2f} on average"
    return [f"dead: {dead}; duplicate: {duplicate}; {ones}"]


def _listed(items: Sequence[str]) -> str:
    if not items:
        return "none"
    more = len(items) - LISTED
    return ", ".join(items[:LISTED]) + (f" and {more} more" if more > 0 else "")


def _leak(leak: Leak) -> list[str]:
    if leak.ids_in_database is None:
        lines = ["no ids to compare"]
    else:
        lines = [f"{leak.ids_in_database:,} queries are in the database, by their ids"]
    lines.append(f"{leak.twins_in_database:,} queries have the code and a label of a database item")
    if leak.twins_in_training is not None:
        lines.append(f"{leak.twins_in_training:,} queries have the code and a label of a training item")
    if leak.twins_in_database or leak.twins_in_training:
        lines.append("(equal codes are a hint, not a proof: different items can have them)")
    return lines
