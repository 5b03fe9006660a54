"""Options, commands and values of earlier states, and what is taken in their place for one release."""

from collections.abc import Sequence

from hashbench.foundation.errors import HashbenchError
from hashbench.foundation.progress import note

KINDS = ("query", "database", "train")
# of each command its former options and values: the words in place of one, {} for its value; or a sentence
_LAYOUT = {"--bits": "--layout {}", "--bit-order": "--layout {}"}
_ARRAYS = {f"--{kind}-{what}": f"--array {kind}-{what}={{}}" for kind in KINDS for what in ("codes", "labels", "ids")}
_SHARDS = "hashbench eval-shards counts a database in several files"
_OF_TABLES = {
    "--budget": "a table at a budget is TABLE@BUDGET",
    "--splits": 'repeats = "splits" in the file of the table makes repeat r with seed r on split r',
}
_SETTINGS = {
    "loss=map": "loss=ndcg, or loss=auc",
    "loss=precision": "loss=ndcg, or loss=auc",
    "centres=half": "centres=bernoulli, or centres=max_distance",
}
_BY_ITSELF = "leave it out, for a GPU does what is faster by itself"
_IN_PIECES = "codes are held in memory, packed; hashbench eval-shards counts a database of several files"
OPTIONS = {
    "eval": {
        **_ARRAYS,
        **_LAYOUT,
        **dict.fromkeys(("--shards", "--shard-labels", "--jobs", "--ray", "--counts", "--append"), _SHARDS),
        **dict.fromkeys(("--stream", "--no-stream"), _IN_PIECES),
        "--csv": "hashbench eval ... --format csv > FILE",
        "--trec-run": "the option --trec FOLDER writes run.txt and qrels.txt",
        "--trec-depth": "the run has 1,000 items of a query, or as many as the largest cutoff of --metric",
        "--qrels": "the option --trec FOLDER writes run.txt and qrels.txt",
    },
    "eval-shards": {
        **_ARRAYS,
        **_LAYOUT,
        "--append": "all shards with --counts FILE: those that the file lacks are counted",
        "--ray": "the option --jobs N counts N shards at a time, and --counts FILE goes on with more",
    },
    "train": {
        "--threads": "--device cpu:{}",
        **dict.fromkeys(("--compile", "--channels-last"), _BY_ITSELF),
    },
    "speed": {
        "--threads": "--device cpu:{}",
        "--weights": "any weights are as fast, so --set weights=none",
    },
    "pretrain": {
        "--width": "its setting width is a share of the model's own channels, such as --set width=0.5",
        "--threads": "--device cpu:{}",
        "--epochs": "--set epochs={}",
        "--checkpoint-every": "a checkpoint is written every 10 seconds",
    },
    "tune": {
        "--studies": "--repeats {}",
        "--timeout": "a trial that hangs is ended by Ctrl-C, and left out by a narrower space",
    },
    "bench": {"--weights": "hashbench features DATASET --model MODEL --weights FILE, then --features NAME"},
    "run": {
        **_OF_TABLES,
        "--cores": "--ray cores={}",
        "--memory": "--ray memory={}",
        "--processes": "one process trains a run, and --jobs N makes N runs side by side",
    },
    "compare": {
        "--bit-order": "--layout {}",
        "--csv": "hashbench compare ... --format csv > FILE",
        "--interval": "the interval is that of 95%",
        "--samples": "the test is a paired t-test, without samples",
        "--top": "the five queries that differ most are shown, and hashbench eval --per-query FILE writes all",
    },
    "show": {"--kind": "hashbench show KIND/NAME, such as method/itq"},
    "status": _OF_TABLES,
    "bundle": {**_OF_TABLES, "--seeds": "all seeds that are stored are packed"},
    "verify": {"--rows-only": "status 1 and the last line say that no run was scored again"},
    "table": {
        **_OF_TABLES,
        "--figures": "the options --all --write write the figures too",
        "--distinct": "distinct = true in the file of the table, or hashbench show RUN",
    },
    "figure": {
        "agreement": "hashbench table --all --check names the cells that are furthest off",
        "leaderboard_ranks": "hashbench leaderboard has the ranges of ranks",
    },
    "split": {"--relevance": "docs/datasets.md has what it showed of LabelMe"},
    "search": {
        **_ARRAYS,
        **_LAYOUT,
        "--method": "all items are compared, and hashbench export --codes --to faiss writes codes for faiss's indexes",
    },
    "export": {**_LAYOUT},
    "index": {
        "--codes": "the codes are in the file ITEMS",
        "--verify": "there is no file of an index: hashbench index reads the items themselves",
    },
    "list": {
        "--dataset": "--only dataset={}",
        "--method": "--only method={}",
        "--protocol": "--only protocol={}",
        "--bits": "--only bits={}",
        "--status": "--only status={}",
        "--table": "{}",
    },
    "dataset add": {
        "--queries-per-class": "--queries {}/class",
        "--train-per-class": "--train {}/class",
        "--query-ids": "the queries in a second file or folder: hashbench dataset add NAME DATABASE QUERIES",
        "--embed": "network.encode(texts) of sentence-transformers, saved by numpy.save (docs/embeddings.md)",
        "--value-max": "images of values 0 to 255",
        **dict.fromkeys(("--header", "--no-header"), "numpy.savez('mine.npz', items=items, labels=labels)"),
    },
    "results import": {"--bit-order": "--layout {}"},
}
# former values of options of today; of NAME=VALUE the name alone may stand here
VALUES = {
    **dict.fromkeys(("train", "speed", "tune"), _SETTINGS),
    "eval": {
        "hashnet-caffe": "--as hashnet drops a query without relevant items in the first R, which Caffe's made 0",
        "train-codes": "score these codes as the database, and the report counts the queries among them as leak",
    },
}
COMMANDS = {
    "results list": "list runs",
    "results show": "show",
    "index build": "hashbench index ITEMS QUERIES --embeddings FILE reads the items themselves",
    "index query": "index",
    "results add": "results merge",
    "results prune": "delete the line of a damaged row, or restore it from git, and remove folders of results/runs/",
    "results diff": "hashbench compare A B of runs, and hashbench results merge FOLDER --dry-run of folders",
    "results collect": "hashbench bundle TABLE, and hashbench results merge of the bundle, keep the histograms",
    "dataset remove": "remove NAME/ and cards/NAME.toml from the data folder, which hashbench doctor names",
}


def options_of_today(command: str, words: Sequence[str]) -> list[str]:
    """The words of a command with today's options in place of former ones; HashbenchError for one that is gone."""
    moved = OPTIONS.get(command, {})
    gone = VALUES.get(command, {})
    today: list[str] = []
    left = iter(words)
    for word in left:
        option, _, value = word.partition("=")
        if option not in moved:
            today.append(word)
            continue
        new = moved[option]
        if not new.startswith(("--", "{}")):
            raise HashbenchError(f"{option} of hashbench {command} is gone: {new}")
        if "{}" in new and "=" not in word:
            value = next(left, "")
        if "{}" in new and not value:
            raise HashbenchError(f"{option} of hashbench {command} needs a value, and is now {new.format('VALUE')}")
        note(f"note: {option} of hashbench {command} is now {new.format(value)}")
        today += [part.format(value) for part in new.split()]
    for word in today:
        value = word
        if word.startswith("--"):
            value = word.partition("=")[2]
        for former in (value, value.partition("=")[0]):
            if former in gone:
                raise HashbenchError(f"{former} of hashbench {command} is gone: {gone[former]}")
    return today


def command_of_today(words: Sequence[str]) -> list[str]:
    """The words with today's command in place of a former one; HashbenchError for one that is gone."""
    new = COMMANDS.get(" ".join(words[:2]))
    if new is None:
        return [*words]
    former = f"hashbench {words[0]} {words[1]}"
    if new.startswith(("hashbench ", "remove ")):
        raise HashbenchError(f"{former} is gone: {new}")
    note(f"note: {former} is now hashbench {new}")
    return [*new.split(), *words[2:]]
