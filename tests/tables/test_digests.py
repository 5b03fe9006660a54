"""The names of all runs that tables declare, which hold the digests of their settings, are those of the stored rows."""

import hashlib
import json

from support.fake_rows import assert_golden

from hashbench.showing.tables import spec
from hashbench.showing.tables.cell_runs import cell_runs


def test_no_declared_run_has_another_name() -> None:
    digests = {}
    for table in spec.names():
        names = {str(run.name) for each in cell_runs(spec.load(table), 1) for run in each.runs}
        digests[table] = hashlib.sha256("\n".join(sorted(names)).encode()).hexdigest()
    assert_golden("names_of_runs.json", json.dumps(digests, indent=1, sort_keys=True) + "\n")
