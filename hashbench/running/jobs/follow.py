"""Tasks given to a pool until each has a result: what waits for another process, and what is tried again."""

import time
from collections import Counter, deque
from collections.abc import Callable, Generator, Sequence
from contextlib import closing
from typing import Any, TypeVar

from hashbench.foundation.errors import HashbenchError
from hashbench.foundation.progress import note, with_bar
from hashbench.running.jobs.local import local_pool
from hashbench.running.jobs.task import Died, NodeError, Pool, Postponed, Stopped, Task, TookTooLong

ATTEMPTS = 2  # of a task whose worker dies
POLL_S = 2.0  # how often a task that waits for another process is looked at

T = TypeVar("T", bound=Task)


def follow(
    tasks: Sequence[T],
    pool: Pool,
    *,
    ready: Callable[[T], bool] = lambda _: True,
    instead: Callable[[T, Died], T | None] = lambda _task, _died: None,
) -> Generator[tuple[int, Any]]:
    """(place among ``tasks``, result) of each task, as they end; no worker of the pool is left behind.

    The result is a HashbenchError where the task raised one, and Died where it failed for good: its worker died
    ``ATTEMPTS`` times, or it took too long. Then the task that ``instead`` returns takes its place, if there is one.
    ``ready`` says whether a task can be given to the pool now. A HashbenchError that these two raise is a result, too.
    After a task that is Stopped those that wait have no result.
    """
    current = list(tasks)
    waiting = deque(range(len(tasks)))
    deaths = Counter[int]()
    is_noted = False
    with closing(pool):
        while waiting or pool.is_busy:
            yield from _give(current, waiting, pool, ready)
            if not pool.is_busy:
                if waiting and not is_noted:
                    note(f"note: {len(waiting)} of {len(tasks)} wait for other processes, which do them now")
                    is_noted = True
                time.sleep(POLL_S if waiting else 0)
                continue
            for at, result in pool.ended(POLL_S if waiting and pool.has_room else None):
                if isinstance(result, Postponed):
                    waiting.append(at)
                    continue
                if isinstance(result, Died):
                    deaths[at] += 1
                    result = _after(result, current[at], deaths[at], instead)  # noqa: PLW2901
                if isinstance(result, Task):
                    current[at] = result  # type: ignore[assignment]  # ``_after`` returns one of these tasks
                    waiting.appendleft(at)
                    continue
                if isinstance(result, Stopped):
                    waiting.clear()
                yield from _give(current, waiting, pool, ready)  # no worker waits for the use of the result
                yield at, result


def _give(
    current: Sequence[T], waiting: deque[int], pool: Pool, ready: Callable[[T], bool]
) -> Generator[tuple[int, HashbenchError]]:
    """Gives the pool what is ready, as long as it has room; the tasks whose ``ready`` raises an error."""
    for _ in range(len(waiting)):
        if not pool.has_room:
            return
        at = waiting.popleft()
        try:
            is_ready = ready(current[at])
        except HashbenchError as error:
            yield at, error
            continue
        if is_ready:
            pool.give(at, current[at])
        else:
            waiting.append(at)


def _after(died: Died, task: T, n_deaths: int, instead: Callable[[T, Died], T | None]) -> T | Died | HashbenchError:
    is_slow = isinstance(died, TookTooLong)
    if n_deaths < ATTEMPTS and not is_slow:
        note(f"note: {task.name}: {died}: it is tried again")
        return task
    failure = died if is_slow else Died(f"{died}, {n_deaths} times")
    try:
        return instead(task, failure) or failure
    except HashbenchError as error:
        return error


def all_done(tasks: Sequence[Task], pool: Pool) -> Generator[tuple[int, Any]]:
    """As ``follow``, for tasks that are all needed: raises HashbenchError where one fails, in a line that names it."""
    with closing(follow(tasks, pool)) as results:
        for at, result in results:
            if isinstance(result, Died | NodeError):
                raise HashbenchError(f"{tasks[at].name}: {result}")
            if isinstance(result, HashbenchError):
                raise result
            yield at, result


def checked(tasks: Sequence[Task], jobs: int) -> list[Any]:
    """The results of ``tasks`` that look at a shard each, in order, from ``jobs`` workers of this machine."""
    results = dict(with_bar(all_done(tasks, local_pool(min(jobs, len(tasks)))), "check", "shard", len(tasks)))
    return [results[at] for at in range(len(tasks))]
