"""One execution of each run: the stored row, the lock of the run's folder, failed rows, and the process group."""

from contextlib import suppress
from functools import partial

from hashbench.contract import Hasher, TrainingFailed
from hashbench.foundation import provenance
from hashbench.foundation.files import require_writable
from hashbench.runs.data import open_data, require_supervision
from hashbench.runs.execute import execute
from hashbench.runs.fit import FITTED, fit, load_saved
from hashbench.runs.lock import locked_folder
from hashbench.runs.options import DEFAULT_OPTIONS, Options
from hashbench.runs.row import Row
from hashbench.runs.run import Run
from hashbench.runs.several import encode, is_needed, process_group
from hashbench.runs.store import Store


def row_of(spec: Run, store: Store, options: Options = DEFAULT_OPTIONS, *, again: bool = False) -> Row:
    """The row of ``spec``: the stored one if there is one, else the run is executed and its row is stored.

    If training fails, a failed row is stored; the next call tries again. A run that was killed continues from its
    checkpoint. A run that another process executes is waited for, and its row is the result.

    With ``again`` the run is executed even if its row is stored; the new row is the result, and the stored one stays.
    """
    require_supervision(spec)
    provenance.code()  # cached now: the source tree may change while the run takes hours
    with process_group(spec, options) as own:
        if (row := stored_row(spec, store)) is None or again:
            return _row_under_lock(spec, store, own, again=again)
        is_needed(own.group, answer=False)
        return row


def stored_row(spec: Run, store: Store) -> Row | None:
    """The stored row of a run; None if there is none or if it failed."""
    row = store.find(spec.name.dataset, spec.name.protocol, str(spec.name))
    return row if row is not None and row.status == "ok" else None


def follow(spec: Run, store: Store, options: Options) -> None:
    """Does this process's share of the run that the first process executes with ``run``; writes nothing."""
    require_supervision(spec)
    with process_group(spec, options) as own:
        if not is_needed(own.group, answer=False):
            return
        data = open_data(spec, own)
        with suppress(TrainingFailed):  # the first process fails too, and stores the row
            hasher, _ = fit(data, store.run_folder(str(spec.name)), own, None)
            encode(hasher, data.search_items, own.group, progress=False)


def base_hasher(spec: Run, store: Store, options: Options) -> Hasher:
    """The hasher of a base run: loaded if it is saved, else the run is executed now.

    The lock makes sure that the base is executed once, even if several runs need it at the same time. Its row is stored
    if it has none yet. Raises TrainingFailed if the base run fails.
    """
    with locked_folder(store.run_folder(str(spec.name)), wait=True):
        row = stored_row(spec, store)
        if row is None or (hasher := load_saved(spec, store, options.device)) is None:
            again = _executed(spec, store, options)
            if row is None:
                store.write(again)
            if again.status != "ok":
                raise TrainingFailed(f"{spec.name}, which it starts from, failed: {again.reason}")
            hasher = load_saved(spec, store, options.device)
    assert hasher is not None, "a run that did not fail has saved its hasher"
    return hasher


def _row_under_lock(spec: Run, store: Store, options: Options, *, again: bool) -> Row:
    """The row of ``spec``, executed and stored while this process holds the lock of the run's folder."""
    folder = store.run_folder(str(spec.name))
    for written in (folder, store.rows_folder):
        require_writable(written)
    before = store.find(spec.name.dataset, spec.name.protocol, str(spec.name))
    # the other processes of a group would wait for this one, and PyTorch ends that after some minutes
    with locked_folder(folder, wait=options.group.is_alone):
        row = store.find(spec.name.dataset, spec.name.protocol, str(spec.name))
        is_stored = row is not None and (row.status == "ok" or row != before)  # perhaps by a process just waited for
        if is_needed(options.group, answer=again or not is_stored) or row is None:
            if again:
                (folder / FITTED).unlink(missing_ok=True)  # a saved hasher would be loaded
            stored, row = row, _executed(spec, store, options)
            if stored is None or stored.status != "ok":
                store.write(row)
    return row


def _executed(spec: Run, store: Store, options: Options) -> Row:
    """The row of ``spec``, executed now, after its base if it has one."""
    base = None if spec.base is None else partial(base_hasher, spec.base, store)
    return execute(spec, store.run_folder(str(spec.name)), options, base)
