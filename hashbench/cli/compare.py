"""``hashbench compare``: the differences between codes or runs, and how sure they are over the queries."""

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from itertools import combinations
from pathlib import Path
from string import ascii_uppercase
from typing import TYPE_CHECKING, Annotated, Any

from typer import Argument, Context, Option, echo

from hashbench.cli._options import AsJson, BitOrder, Bits, Layout, program
from hashbench.cli._terminal import json_text, print_notes
from hashbench.cli.catalogue import complete
from hashbench.foundation.errors import HashbenchError, printable, retold
from hashbench.foundation.files import require_apart, require_output

if TYPE_CHECKING:
    from hashbench.codes.files import Explicit
    from hashbench.evaluation.compare import Comparison, Difference, Side
    from hashbench.runs.row import Row
    from hashbench.runs.store import Store

MEANS = ("A", "B", "A - B")
NOT_SEEDS = "not in the interval: the spread over seeds of training"


@dataclass(frozen=True)
class Given:
    """What one argument names: a side of a comparison; of a run its seed, and the stored seeds of its cell."""

    side: "Side"
    seed: int | None = None
    seeds: tuple[int, ...] = ()
    notes: tuple[str, ...] = ()


def _complete_side(incomplete: str) -> list[str]:
    return complete("runs")(incomplete) if incomplete else []


def command(
    context: Context,
    sides: Annotated[
        list[str], Argument(metavar="A B...", help="Saved codes, or runs: two or more.", autocompletion=_complete_side)
    ],
    metric: Annotated[list[str] | None, Option(help="Metrics, named as for hashbench eval; repeatable.")] = None,
    samples: Annotated[
        int, Option(min=100, max=10_000_000, help="Samples of the bootstrap and the randomisation test.")
    ] = 10_000,
    seed: Annotated[int, Option(min=0, help="Seed of both.")] = 0,
    interval: Annotated[float, Option(help="The share of the bootstrap samples inside the interval.")] = 0.95,
    top: Annotated[int, Option(min=0, help="The number of queries shown that differ most.")] = 5,
    exclude_self: Annotated[bool, Option("--exclude-self", help="Of saved codes, as in hashbench eval.")] = False,
    bits: Bits = None,
    bit_order: BitOrder = None,
    layout: Layout = None,
    csv: Annotated[Path | None, Option(metavar="FILE", help="Write a CSV file: a line a metric and pair.")] = None,
    as_json: AsJson = False,
) -> None:
    """Compare two or more codes of the same queries and database.

    For each metric: the means, their difference A - B, a paired bootstrap interval of it, and the p-value of a
    randomisation test that exchanges the two values of a query. Both are over the queries, and tell how the difference
    would vary with other queries. They do not tell how it would vary with other seeds: hashbench table shows that.

    Of more than two, each is compared with each, and Holm's correction of p is for the number of comparisons.
    """
    from hashbench.codes.files import Explicit
    from hashbench.evaluation import compare, report, scorer

    if csv is not None:
        require_apart([Path(name) for name in sides], [csv])
        require_output(csv, "--csv")
    names = compare.check_names(metric or scorer.DEFAULT)
    if not 0 < interval < 1:
        raise HashbenchError(f"--interval {interval:g}: more than 0 and less than 1 is expected, such as 0.95")
    explicit = Explicit(bits=bits, bit_order=bit_order, layout=layout)
    if not 2 <= len(sides) <= len(ascii_uppercase):
        raise HashbenchError(f"{len(sides)} to compare: 2 to {len(ascii_uppercase)} codes or runs are expected")
    given = [_side(name, explicit, exclude_self, program(context)) for name in sides]
    options: dict[str, Any] = {"samples": samples, "seed": seed, "interval": interval}
    pairs = list(combinations(range(len(given)), 2))
    found = [compare.compare(given[a].side, given[b].side, names, **options) for a, b in pairs]
    print_notes([note for each in given for note in each.notes])
    corrected = {name: compare.holm([each.metrics[name].p for each in found]) for name in found[0].metrics}
    if len(pairs) > 1:
        values = _json_of_all(given, pairs, found, corrected)
        lines = [*_lines_of_all(given, pairs, found, corrected), "", *_how(found, options, len(pairs)), NOT_SEEDS]
    else:
        first, second = given
        values = _json(first, second, found[0], top)
        lines = [*_lines(first, second, found[0], top, options)]
    if csv is not None:
        report.write_csv_of_comparisons(csv, [each.side.name for each in given], pairs, found, corrected)
    echo(json_text({**values, **options}) if as_json else "\n".join(lines))


def _side(name: str, explicit: "Explicit", exclude_self: bool, program: list[str]) -> Given:
    """The saved codes called ``name`` where there is such a file or folder, else the run."""
    from hashbench.codes import files
    from hashbench.codes.files import SavedCodes
    from hashbench.evaluation.compare import Side
    from hashbench.evaluation.scorer import Scorer

    if not Path(name).exists():
        if "/" in name or Path(name).suffix in (".npz", ".npy", ".mat", ".h5", ".pt"):
            raise HashbenchError(f"{name}: no such file or folder")
        if exclude_self:
            raise HashbenchError(f"--exclude-self can be used with saved codes only: {name} is a run")
        return _run(name, program)
    saved = files.opened([Path(name)], explicit=explicit)
    counted = Scorer.of_saved(saved, exclude_self=exclude_self).evidence().histogram
    labels = saved.relevance.query_labels if isinstance(saved, SavedCodes) else saved.query_labels
    return Given(Side(name, counted, saved.query_ids, labels), notes=saved.notes)


def _run(name: str, program: list[str]) -> Given:
    from hashbench.evaluation.compare import Side
    from hashbench.runs.command import train_command
    from hashbench.runs.store import Store

    store = Store.default()
    row = _row(name, store)
    if (histogram := store.histogram(row)) is None:
        path = store.run_folder(row.run) / "histogram.npz"
        with retold(lambda fault: f"{path}: no such file, and no command makes it: {fault}", HashbenchError):
            remedy = train_command(row, program, again=True)
        raise HashbenchError(f"{path}: no such file: this makes it: {remedy}")
    side = Side(row.run, histogram, labels=store.query_labels(row), split=row.ids_sha256)
    return Given(side, row.seed, tuple(store.seeds_of(row)))


def _row(name: str, store: "Store") -> "Row":
    """The successful row of a run of binary codes; several seeds of one cell are no run."""
    lines = {line.name: line for line in store.begun(name)}
    begun = {} if name in lines else {line.name: line.row() for line in lines.values()}
    if len(begun) > 1 and len({row.cell_hash for row in begun.values()}) == 1:
        seeds = ", ".join(str(seed) for seed in sorted(row.seed for row in begun.values()))
        advice = f"name one run, for the test is over the queries of one run, such as {min(begun)}"
        more = "hashbench table shows the spread over seeds"
        raise HashbenchError(f"{name}: a cell with {len(begun)} seeds ({seeds}): {advice}; {more}")
    row = store.named(name)
    if row.status != "ok":
        raise HashbenchError(f"{row.run}: the run failed ({row.reason}): a run with scores is expected")
    if "histogram" not in row.artefacts:
        raise HashbenchError(f"{row.run}: {row.method} has no ranking of binary codes: nothing can be compared")
    return row


def _json_of_all(
    given: list[Given], pairs: list[tuple[int, int]], found: "list[Comparison]", corrected: dict[str, list[float]]
) -> dict[str, Any]:
    sides = {letter: _side_json(each) for letter, each in zip(ascii_uppercase, given, strict=False)}
    comparisons = []
    for n, ((a, b), each) in enumerate(zip(pairs, found, strict=True)):
        metrics = {name: {**asdict(of), "p_holm": corrected[name][n]} for name, of in each.metrics.items()}
        letters = {"a": ascii_uppercase[a], "b": ascii_uppercase[b]}
        comparisons.append({**letters, "same_queries_by": each.same_by, "metrics": metrics})
    sizes = {"n_queries": found[0].n_queries, "n_empty": found[0].n_empty, "n_database": found[0].n_database}
    return {"over": "queries", **sizes, "sides": sides, "comparisons": comparisons}


def _side_json(given: Given) -> dict[str, Any]:
    values = {"name": given.side.name, "n_bits": given.side.histogram.n_bits}
    return values | ({} if given.seed is None else {"seed": given.seed, "stored_seeds": list(given.seeds)})


def _json(a: Given, b: Given, found: "Comparison", top: int) -> dict[str, Any]:
    sizes = {"n_queries": found.n_queries, "n_empty": found.n_empty, "n_database": found.n_database}
    different = {name: [asdict(each) for each in found.most_different(name, top)] for name in found.metrics}
    values: dict[str, Any] = {"same_queries_by": found.same_by, "over": "queries", **sizes}
    values |= {"a": _side_json(a), "b": _side_json(b)}
    metrics = {name: asdict(each) for name, each in found.metrics.items()}
    return {**values, "metrics": metrics, "most_different": different}


def _lines_of_all(
    given: list[Given], pairs: list[tuple[int, int]], found: "list[Comparison]", corrected: dict[str, list[float]]
) -> Iterator[str]:
    from hashbench.evaluation.scores import aligned
    from hashbench.metrics import shown

    yield from _heading(given, found[0])
    for name in found[0].metrics:
        lines: list[tuple[str, ...]] = [(shown(name), "first", "second", "difference", "interval", "p", "p (Holm)")]
        for n, ((a, b), each) in enumerate(zip(pairs, found, strict=True)):
            of, letters = each.metrics[name], f"{ascii_uppercase[a]}, {ascii_uppercase[b]}"
            lines.append((letters, *_values(of), _p(corrected[name][n])))
        yield from ("", *aligned(lines))


def _heading(given: Sequence[Given], found: "Comparison") -> Iterator[str]:
    for letter, each in zip(ascii_uppercase, given, strict=False):
        yield f"{letter}  {each.side.name}: {each.side.histogram.n_bits} bits"
    empty = f", {found.n_empty:,} of them without a relevant item (left out)" if found.n_empty else ""
    yield f"{found.n_queries:,} queries{empty}, {found.n_database:,} items; the same queries by {found.same_by}"


def _lines(a: Given, b: Given, found: "Comparison", top: int, options: dict[str, Any]) -> Iterator[str]:
    from hashbench.evaluation.scores import aligned
    from hashbench.metrics import shown

    yield from _heading((a, b), found)
    interval = f"{100 * options['interval']:g}% interval"
    rows = ((shown(name), *_values(each)) for name, each in found.metrics.items())
    yield from ("", *aligned([("metric", *MEANS, interval, "p"), *rows]))
    yield from _different(found, top)
    yield ""
    yield from _how([found], options)
    if a.seed is None or b.seed is None or max(len(a.seeds), len(b.seeds)) == 1:
        yield NOT_SEEDS
        return
    yield (
        f"not in the interval: the spread over seeds. These are seed {a.seed} of {len(a.seeds)} stored seeds of A's "
        f"cell and seed {b.seed} of {len(b.seeds)} of B's; hashbench table shows mean and deviation over seeds"
    )


def _how(found: "Sequence[Comparison]", options: dict[str, Any], n: int = 1) -> Iterator[str]:
    """How interval and p were made, and how p is corrected where each metric has ``n`` comparisons."""
    sampled = not all(each.is_exact for one in found for each in one.metrics.values())
    p = "of random exchanges of A and B" if sampled else "exact: of all exchanges of A and B"
    share = "" if n == 1 else f" ({100 * options['interval']:g}%)"
    yield (
        f"interval{share}: paired bootstrap over the queries, {options['samples']:,} samples, seed {options['seed']}; "
        f"p: two-sided, {p}, query by query"
    )
    if n > 1:
        yield f"p (Holm): p corrected for the {n} comparisons of each metric, by Holm's step-down procedure"


def _values(each: "Difference") -> tuple[str, ...]:
    between = f"[{_signed(each.low)}, {_signed(each.high)}]"
    return f"{each.a:.4f}", f"{each.b:.4f}", _signed(each.difference), between, _p(each.p)


def _p(p: float) -> str:
    return f"{p:.4f}" if p >= 5e-5 else f"{p:.1e}"


def _different(found: "Comparison", top: int) -> Iterator[str]:
    from hashbench.metrics import shown

    metric = next(iter(found.metrics))
    for n, each in enumerate(found.most_different(metric, top)):
        if n == 0:
            yield from ("", f"largest differences in {shown(metric)}, queries numbered from 0")
        called = "" if each.id is None else f"  id {printable(str(each.id))}"
        yield f"query {each.query:>6}  A {each.a:.4f}  B {each.b:.4f}  A - B {_signed(each.a - each.b)}{called}"


def _signed(value: float) -> str:
    """Four decimals with a sign; what rounds to zero has none."""
    return f"{round(value, 4):+.4f}" if round(value, 4) else "0.0000"
