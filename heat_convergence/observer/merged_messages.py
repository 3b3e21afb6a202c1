"""Messages about one stack that arrive while another one is being processed.

Called by the observer. The transactions of a stack wait for its lock, each with a thread and a
connection to the database: here the thread that is at work for a stack goes on with whatever
messages have named meanwhile, in one transaction. Must not delay a message of a stack for which
no thread is at work.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence

MOST_RESOURCES = 200  # in one transaction, beside those of a message


class MergedMessages:
    """The stacks for which threads of this process are at work. Thread-safe.

    What messages have named is dropped if the processing raises: the sweep finds it (RULE 1).
    """

    def __init__(self, process: Callable[[str, Sequence[str]], None]) -> None:
        """Process resources of a stack by calling ``process`` with its id and theirs."""
        self._process = process
        self._lock = threading.Lock()
        self._named: dict[str, list[str]] = {}  # by the ids of the stacks that are at work

    def process(self, stack_id: str, resource_ids: Sequence[str]) -> None:
        """Process resources, or leave them to the thread that is at work for their stack."""
        with self._lock:
            if stack_id in self._named:
                self._named[stack_id].extend(resource_ids)
                return
            self._named[stack_id] = []
        try:
            while resource_ids:
                self._process(stack_id, resource_ids)
                resource_ids = self._take(stack_id)
        finally:
            if resource_ids:  # the processing has raised
                with self._lock:
                    del self._named[stack_id]

    def _take(self, stack_id: str) -> Sequence[str]:
        """Return resources that were named meanwhile; without any, the work has ended."""
        with self._lock:
            named = list(dict.fromkeys(self._named[stack_id]))
            if named:
                self._named[stack_id] = named[MOST_RESOURCES:]
            else:
                del self._named[stack_id]
        return named[:MOST_RESOURCES]
