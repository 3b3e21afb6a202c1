"""Slots that groups share fairly, and an executor that starts work as it gets slots.

Used by engines and observers for calls that may hang. A group (a service in a region, or a
project) gets a slot while it holds fewer than twice the slots that are free: one group holds at
most two thirds of all slots, two hold at most two fifths each, and some always stay free for
others. Must not know what the work or the groups are.

Source: A. K. Choudhury, E. L. Hahne: Dynamic queue length thresholds for shared-memory packet
switches, IEEE/ACM Transactions on Networking 6 (1998).
"""

from __future__ import annotations

import threading
from collections import Counter, deque
from collections.abc import Callable, Collection, Hashable
from concurrent.futures import Executor, Future
from dataclasses import dataclass
from functools import partial
from typing import Any

_SHARE = 2  # slots of a group for each slot that is free

SlotGroups = Collection[Hashable]


class FairSlots:
    """A number of slots. Thread-safe."""

    def __init__(self, total: int) -> None:
        self._free = total
        self._held: Counter[Hashable] = Counter()
        self._lock = threading.Lock()

    def try_take(self, groups: SlotGroups) -> bool:
        """Take one slot for all of the groups, unless one of them has its share already."""
        with self._lock:
            if not all(self._held[group] < _SHARE * self._free for group in groups):
                return False
            if self._free <= 0:
                return False
            self._free -= 1
            self._held.update(groups)
            return True

    def give_back(self, groups: SlotGroups) -> None:
        """Give back a slot that was taken for the groups."""
        with self._lock:
            self._free += 1
            self._held.subtract(groups)
            for group in groups:
                if self._held[group] <= 0:
                    del self._held[group]


@dataclass(frozen=True, slots=True, eq=False)
class _Work:
    """Work that waits for a slot or has one."""

    groups: tuple[Hashable, ...]
    run: Callable[[], Any]
    future: Future[Any]


class FairExecutor:
    """An executor whose threads are slots.

    Args:
        executor: Runs the work; it must have as many threads as there are slots.
        slots: Number of slots.
    """

    def __init__(self, executor: Executor, slots: int) -> None:
        self._executor = executor
        self._slots = FairSlots(slots)
        self._waiting: deque[_Work] = deque()
        self._lock = threading.Lock()
        self._closed = False

    def submit(self, groups: SlotGroups, run: Callable[[], Any]) -> Future[Any]:
        """Run a function as soon as its groups get a slot; until then it can be cancelled."""
        work = _Work(tuple(groups), run, Future())
        with self._lock:
            self._waiting.append(work)
        self._start_next()
        return work.future

    def shutdown(self) -> None:
        """Cancel what waits, and return when the rest has ended."""
        with self._lock:
            self._closed = True
        self._start_next()
        self._executor.shutdown()

    def _start_next(self) -> None:
        with self._lock:
            ready = self._take_ready()
        for work in ready:
            self._executor.submit(_run, work).add_done_callback(partial(self._end, work))

    def _take_ready(self) -> list[_Work]:
        """Take what may start now, the oldest first; leave out what was cancelled."""
        ready, left, blocked = [], [], set()
        for work in self._waiting:
            if self._closed:
                work.future.cancel()
            if work.future.cancelled():
                work.future.set_running_or_notify_cancel()  # who waits for it goes on
                continue
            if work.groups not in blocked and self._slots.try_take(work.groups):
                ready.append(work)
            else:
                blocked.add(work.groups)
                left.append(work)
        self._waiting = deque(left)
        return ready

    def _end(self, work: _Work, done: Future[Any]) -> None:
        self._slots.give_back(work.groups)
        error = done.exception()
        if not work.future.cancelled():
            if error is None:
                work.future.set_result(done.result())
            else:
                work.future.set_exception(error)
        self._start_next()


def _run(work: _Work) -> Any:
    return work.run() if work.future.set_running_or_notify_cancel() else None
