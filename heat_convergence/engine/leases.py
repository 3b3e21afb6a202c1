"""Which leases of this engine are certain, by its own clock.

Called by ``engine`` around the calls and the renewals of one process; knows no row.
RULE 3: whoever was stalled for longer than a lease lasts must not begin a call, for
somebody else may have the resource by now; and what was given up is renewed no more,
or nobody could ever take it over.
"""

from __future__ import annotations

import threading
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from datetime import datetime


class LeaseTracker:
    """Token → until when nobody else can have claimed what it holds."""

    def __init__(self) -> None:
        self._until: dict[str, datetime] = {}
        self._guard = threading.Lock()

    @contextmanager
    def track(self, token: str) -> Iterator[None]:
        """Around all work under the token: afterwards it is forgotten."""
        try:
            yield
        finally:
            with self._guard:
                self._until.pop(token, None)

    def claim(self, token: str, until: datetime) -> None:
        """Resources were claimed under the token."""
        with self._guard:
            self._until[token] = until

    def is_valid(self, token: str, now: datetime) -> bool:
        return token in self.valid_tokens(now)

    def valid_tokens(self, now: datetime) -> frozenset[str]:
        """The tokens that have not run out."""
        with self._guard:
            return frozenset(token for token, until in self._until.items() if now < until)

    def extend(self, tokens: Collection[str], until: datetime, now: datetime) -> None:
        """The store has put them off to ``until``, and says so at ``now``: too late for
        those that had run out by then."""
        with self._guard:
            for token in tokens:
                if now < self._until.get(token, now):
                    self._until[token] = until
