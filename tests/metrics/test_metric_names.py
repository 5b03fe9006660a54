"""The grammar of metric names."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.one_line import one_line

from hashbench.foundation.errors import HashbenchError
from hashbench.scoring.metrics import METRICS, NamedMetric
from hashbench.scoring.metrics._name import split_names

CANONICAL = [
    "ap",
    "ap@5000",
    "ap(norm=retrieved)@5000",
    "ap(norm=min)@100",
    "ap_best",
    "ap_worst@10",
    "ap_best(norm=min)@10",
    "ap_worst(norm=retrieved)@10",
    "auc",
    "pr_area",
    "pr_area@10000",
    "pr_area_by_rank",
    "pr_area_by_rank@10000",
    "ndcg",
    "ndcg@100",
    "precision@100",
    "precision@r2",
    "precision@r0",
    "precision@r",
    "recall@100",
    "recall@r2",
    "f1@100",
    "f1@r2",
    "mrr",
    "mrr@10",
    "structhash_ndcg@100",
    "suf",
    "suf@4",
    "rerank_precision@16",
    "nmi",
]


@pytest.mark.parametrize("name", CANONICAL)
def test_a_canonical_name_reads_back_to_itself(name: str) -> None:
    assert str(NamedMetric.parse(name)) == name
    assert NamedMetric.parse(str(NamedMetric.parse(name))) == NamedMetric.parse(name)


@pytest.mark.parametrize(
    "written, canonical",
    [
        ("ap(norm=all)@5", "ap@5"),
        ("AP-Best", "ap_best"),
        (" ap ( norm = Retrieved ) @ 5000 ", "ap(norm=retrieved)@5000"),
        ("precision@R2", "precision@r2"),
        ("ndcg@007", "ndcg@7"),
        ("mAP", "ap"),
        ("map(norm=retrieved)@1000", "ap(norm=retrieved)@1000"),
        ("map@1000", "ap(norm=retrieved)@1000"),
        ("mAP@1000 (retrieved)", "ap(norm=retrieved)@1000"),
        ("ap@1000(retrieved)", "ap(norm=retrieved)@1000"),
        ("map(norm=all)@5", "ap@5"),
        ("P@10", "precision@10"),
        ("p@r2", "precision@r2"),
        ("RR@5", "mrr@5"),
        ("Rprec", "precision@r"),
        ("R-Precision", "precision@r"),
    ],
)
def test_other_spellings_have_one_canonical_name(written: str, canonical: str) -> None:
    assert str(NamedMetric.parse(written)) == canonical


@pytest.mark.parametrize(
    "name, says",
    [
        ("nddcg", "did you mean ndcg"),
        ("zzz", "one of 15, such as "),
        ("_metric", "not written"),
        ("", "not written"),
        ("ap@@5", "rank"),
        ("ap@", "rank"),
        ("ap@0", "from 1"),
        ("ap@-5", "from 1"),
        ("ap@1.5", "from 1"),
        ("ap@ten", "from 1"),
        ("ap@٣", "from 1"),  # a digit, but not one of ours
        ("ap@" + "9" * 5000, "from 1"),
        ("ap@r2", "ap does not take @r2: write ap@100"),
        ("recall@r", "recall does not take @r"),
        ("precision", "cutoff is required: precision@100 or precision@r2"),
        ("recall", "cutoff is required"),
        ("structhash_ndcg", "cutoff is required"),
        ("ap(norm=min)", "needs a cutoff, as in ap(norm=min)@100"),
        ("ap(norm=all)", "needs a cutoff"),
        ("ap(norm=mni)@5", "did you mean min"),
        ("ap(nrm=min)@5", "did you mean norm"),
        ("ap_best(norm=each)@5", "one of all, min, retrieved"),
        ("auc@5", "auc does not take @5: write auc"),
        ("pr_area@r2", "write pr_area@100"),
        ("ndcg(norm=min)@5", "unknown parameter"),
        ("ap()@5", "key=value"),
        ("ap(norm)@5", "key=value"),
        ("ap(norm=min=all)@5", "key=value"),
        ("ap(norm=min,norm=all)@5", "2 times"),
        ("ap(norm=min", "not written"),
        ("map@r2", "ap does not take @r2: write ap@100"),
        ("ndcg@5 (retrieved)", "unknown parameter"),
        ("map(norm=min)@5 (retrieved)", "2 times"),
        ("R@1", "metric 'r@1': recall@k is the share of the relevant items that is retrieved; the share of queries"),
        ("r", "recall@k is the share"),
        ("rprec@5", "unknown metric 'rprec'"),
        (
            "hit@1",
            "metric 'hit@1': recall@k is the share of the relevant items that is retrieved; the share of queries",
        ),
        ("f1", "cutoff is required"),
        ("mrr@r2", "mrr does not take @r2: write mrr@100"),
    ],
)
def test_what_is_wrong_is_said_in_one_line(name: str, says: str) -> None:
    with one_line(text=says):
        NamedMetric.parse(name)


@pytest.mark.parametrize(
    "written, names",
    [
        ("ap", ["ap"]),
        ("ap,ndcg@100", ["ap", "ndcg@100"]),
        ("recall@1,5,10", ["recall@1", "recall@5", "recall@10"]),
        ("precision@10,r2,r", ["precision@10", "precision@r2", "precision@r"]),
        ("ap(norm=retrieved)@1000, 5000 ,ndcg", ["ap(norm=retrieved)@1000", "ap(norm=retrieved)@5000", "ndcg"]),
        (["auc", "recall@1,5", "5"], ["auc", "recall@1", "recall@5", "5"]),
        ("ap,5", ["ap", "5"]),
        ("ap,", ["ap", ""]),
        ("ap(norm=min,norm=all)@5", ["ap(norm=min,norm=all)@5"]),
    ],
)
def test_names_between_commas_are_several_names(written: str | list[str], names: list[str]) -> None:
    assert split_names(written) == names


@given(st.text(max_size=20) | st.from_regex(r"(ap|ndcg|recall|suf)(\(norm=[a-z]*\))?(@r?-?[0-9]*)?", fullmatch=True))
def test_any_text_is_a_name_or_a_hashbench_error(text: str) -> None:
    try:
        name = NamedMetric.parse(text)
    except HashbenchError:
        return
    assert NamedMetric.parse(str(name)) == name


def test_every_file_of_the_catalogue_is_a_metric_that_says_what_it_is() -> None:
    assert {"ap", "ap_best", "ap_worst", "ndcg", "precision", "recall", "structhash_ndcg", "auc", "pr_area"} <= set(
        METRICS.names
    )
    for name in METRICS.names:
        entry = METRICS.get(name)
        assert entry.summary
        assert entry.paper
        assert all(entry.parameters.values())
        assert entry.cutoffs or not entry.cutoff_required
