"""A record of the jobs that a worker prepares, which outlives its process.

Kept by ``engine`` while it evaluates what jobs need, when they have no lease yet: a job that
ends its worker then would be sent to the next one for ever. Read by ``takeover``.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager

PreparedJobs = tuple[int, tuple[str, ...]]
"""A version and the ids of resources of one stack."""


class PreparationJournal:
    """The jobs that the threads of a worker prepare.

    Args:
        write: Function that keeps a text in place of the one before.
    """

    def __init__(self, write: Callable[[str], object]) -> None:
        self._write = write
        self._jobs: dict[object, PreparedJobs] = {}
        self._guard = threading.Lock()

    @contextmanager
    def preparing(self, version: int, resource_ids: Collection[str]) -> Iterator[None]:
        """Record jobs until the end of the block."""
        key = object()
        self._change(lambda: self._jobs.update({key: (version, tuple(resource_ids))}))
        try:
            yield
        finally:
            self._change(lambda: self._jobs.pop(key))

    def _change(self, change: Callable[[], object]) -> None:
        with self._guard:
            change()
            self._write(json.dumps(list(self._jobs.values())))


def parse_journal(text: str) -> list[PreparedJobs]:
    """Return the recorded jobs; none of a text that was not written to its end."""
    try:
        return [(int(version), tuple(map(str, ids))) for version, ids in json.loads(text)]
    except (ValueError, TypeError):
        return []
