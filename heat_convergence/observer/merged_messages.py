"""Messages that arrive while others are being processed.

Called by the observer. A transaction costs much the same for one stack and for several that end at
about the same time: here the threads that are at work go on with whatever messages have named
meanwhile, several stacks in one transaction, and of each stack all that was named.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence

from heat_convergence.convergence.lifecycle.outgoing_messages import MOST_STACKS

MOST_RESOURCES = 200  # in one transaction, beside those of the message that is the last in it
MOST_TRANSACTIONS = 2  # at once: one that waits for a lock must not keep all others waiting


class MergedMessages:
    """The stacks that messages have named and that no thread of this process works at yet.

    Thread-safe. What is at work is dropped if the processing raises: the sweep finds it (RULE 1).
    """

    def __init__(self, process: Callable[[Mapping[str, Sequence[str]]], None]) -> None:
        """Process resources by calling ``process`` with their ids by stack."""
        self._process = process
        self._lock = threading.Lock()
        self._named: dict[str, dict[str, None]] = {}  # ids of resources by stack, in order
        self._at_work: set[str] = set()
        self._threads = 0

    def process(self, named: Mapping[str, Sequence[str]]) -> None:
        """Process resources by stack, or leave them to the threads that are at work."""
        with self._lock:
            for stack_id, resource_ids in named.items():
                self._named.setdefault(stack_id, {}).update(dict.fromkeys(resource_ids))
            if self._threads >= MOST_TRANSACTIONS or named.keys() <= self._at_work:
                return
            self._threads += 1
        taken: dict[str, Sequence[str]] = {}
        try:
            while taken := self._take_after(taken):
                self._process(taken)
        finally:
            if taken:  # the processing has raised
                with self._lock:
                    self._at_work -= taken.keys()
                    self._threads -= 1

    def _take_after(self, taken: Mapping[str, Sequence[str]]) -> dict[str, Sequence[str]]:
        """Return what to process next; without anything, the thread's work has ended.

        Args:
            taken: what the thread has processed before.
        """
        with self._lock:
            self._at_work -= taken.keys()
            found = self._take()
            self._at_work |= found.keys()
            if not found:
                self._threads -= 1
        return found

    def _take(self) -> dict[str, Sequence[str]]:
        """Return stacks that no thread is at work for, those named first, and forget them."""
        found: dict[str, Sequence[str]] = {}
        room = MOST_RESOURCES
        free = [stack_id for stack_id in self._named if stack_id not in self._at_work]
        for stack_id in free[:MOST_STACKS]:
            if room <= 0:
                break
            ids = list(self._named.pop(stack_id))
            found[stack_id], left = ids[:room], ids[room:]
            if left:
                self._named[stack_id] = dict.fromkeys(left)
            room -= len(found[stack_id])
        return found
