"""The README.md of a bundle."""

from hashbench.bundle.contents import Contents
from hashbench.bundle.layout import ID_LISTS
from hashbench.bundle.manifest import Manifest
from hashbench.contract import CODES
from hashbench.tables.render_markdown import escape

TEXT = """\
# {title}

The table `{table}` of hashbench: its rows, and what is needed to render it and to score it again without training.

hashbench {version} made this archive{commit}. Install that version: another one may name other runs.

Score the rows again from the packed histograms and codes, and compare every value:

    hashbench verify {folder}.zip

Unpack the archive, and render the table from its rows:

    hashbench --results {folder}/results --root {folder}/root {command}

| folder or file | what it holds |
| --- | --- |
| `results/rows/` | {n_rows}: the stored record of each run |
| `results/runs/` | the files of {n_runs}: {n_histograms} with a histogram (`histogram.npz`), {n_retrievals} with the \
result of a bucket search (`retrieval.npz`), {n_codes} with codes (`codes.npz`) |
| `root/` | the table's declaration, the cards of its data sets, the files of its methods and recipes, the papers |
| `splits/` | {n_lists}: the ids of queries, database and training items |
| `manifest.json` | the SHA-256 of each file, and the versions of the programs that made the archive |
{alone}"""

ALONE = """
Of these runs the rows alone are here, and `hashbench verify` cannot score them again:

{runs}
"""


def readme(folder: str, contents: Contents, manifest: Manifest) -> str:
    """The text of README.md; ``folder`` is the one that the archive unpacks to."""
    alone = ALONE.format(runs="\n".join(f"- `{run}`" for run in contents.rows_alone)) if contents.rows_alone else ""
    commit, n_ok = manifest.code.commit, sum(row.status == "ok" for row in contents.rows)
    return TEXT.format(
        title=escape(contents.spec.title),
        table=manifest.table,
        version=manifest.code.version,
        commit="" if commit is None else f" (commit {commit}{', with changes' if manifest.code.dirty else ''})",
        folder=folder,
        command=manifest.table_command,
        n_rows=counted(len(contents.rows), "row"),
        n_runs=counted(n_ok - len(contents.rows_alone), "run"),
        n_histograms=contents.n("histogram.npz"),
        n_retrievals=contents.n("retrieval.npz"),
        n_codes=contents.n(CODES),
        n_lists=counted(sum(name.startswith(f"{ID_LISTS}/") for name in contents.files), "id list"),
        alone=alone,
    )


def counted(n: int, what: str) -> str:
    """A number and what it counts.

    >>> counted(1, "row"), counted(1200, "row")
    ('1 row', '1,200 rows')
    """
    return f"{n:,} {what}" if n == 1 else f"{n:,} {what}s"
