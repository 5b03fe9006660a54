"""Options that are gone, by command, with what to use in their place; said for one release."""

ARRAYS = ("query-codes", "database-codes", "query-labels", "database-labels", "query-ids", "database-ids")
BY_NAME = {f"--{name}": f"--array {name}=FILE:KEY" for name in ARRAYS}
TRAINING = {f"--{name}": f"--array {name}=FILE:KEY" for name in ("train-codes", "train-labels")}
SHARDS = "hashbench eval-shards counts a database in several files"
IN_PIECES = "a large database is read in pieces, and held in memory where an option needs its items"

GONE = {
    "eval": {
        **BY_NAME,
        **TRAINING,
        **dict.fromkeys(("--shards", "--shard-labels", "--jobs", "--ray", "--counts", "--append"), SHARDS),
        **dict.fromkeys(("--stream", "--no-stream"), IN_PIECES),
        "--csv": "--format csv > FILE",
        "--trec-run": "--trec FOLDER writes run.txt and qrels.txt",
        "--trec-depth": "the run has 1,000 items of a query, or as many as the largest cutoff of --metric",
        "--qrels": "--trec FOLDER writes run.txt and qrels.txt",
    },
    "search": BY_NAME,
}
