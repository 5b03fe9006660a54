"""The cells of tables are filled, as ``run`` and ``bench`` do it."""

from collections.abc import Sequence

from hashbench.cli import _interrupts
from hashbench.foundation import paths
from hashbench.foundation.execution import Execution
from hashbench.foundation.progress import note
from hashbench.running.runs.run_all import Plan
from hashbench.running.runs.store import Store
from hashbench.showing.tables.collect import Rows, keep_query_scores
from hashbench.showing.tables.fill import Work, fill
from hashbench.showing.tables.spec import TableSpec


def fill_tables(specs: Sequence[TableSpec], work: Work, store: Store, execution: Execution, plan: Plan) -> int:
    """Makes the runs of the work, and keeps the scores of each query; the number of runs that the time left."""
    _interrupts.say_that_it_continues()
    try:
        return fill(work, store, execution, plan, " ".join(spec.name for spec in specs))
    finally:  # after an interrupt too: the histograms of what is done are here now
        _interrupts.do_not_repeat()
        of_record = [spec for spec in specs if spec.repeats == "splits"]
        rows = Rows(store.rows(lambda _: None) if of_record else ())  # damaged ones are named by what reads them all
        for path in [path for spec in of_record for path in keep_query_scores(spec, rows, store)]:
            note(f"the scores of each query in {paths.shown(path)}")
