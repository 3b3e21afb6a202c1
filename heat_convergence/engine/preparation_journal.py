"""A record of the jobs that a worker prepares, which outlives its process.

Kept by ``engine`` while it evaluates what jobs need, when they have no lease yet: a job that
ends its worker then would be sent to the next one for ever. Read by ``takeover``.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from heat_convergence.convergence.ports.bus import ResourceHint

PreparedJobs = tuple[int, tuple[str, ...]]
"""A version and the ids of resources of one stack."""


class PreparationJournal:
    """The jobs that the threads of a worker prepare.

    Args:
        write: Function that keeps a text in place of the one before.
    """

    def __init__(self, write: Callable[[str], object]) -> None:
        self._write = write
        self._jobs: dict[object, list[PreparedJobs]] = {}  # by message
        self._guard = threading.Lock()

    @contextmanager
    def preparing(self, hints: Sequence[ResourceHint]) -> Iterator[None]:
        """Record the jobs of a message until the end of the block."""
        key = object()
        jobs = [(hint.version, hint.resource_ids) for hint in hints]
        self._change(lambda: self._jobs.update({key: jobs}))
        try:
            yield
        finally:
            self._change(lambda: self._jobs.pop(key))

    def _change(self, change: Callable[[], object]) -> None:
        with self._guard:
            change()
            self._write(json.dumps([each for jobs in self._jobs.values() for each in jobs]))


def parse_journal(text: str) -> list[PreparedJobs]:
    """Return the recorded jobs; none of a text that was not written to its end."""
    try:
        return [(int(version), tuple(map(str, ids))) for version, ids in json.loads(text)]
    except (ValueError, TypeError):
        return []
