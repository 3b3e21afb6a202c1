"""Leases that this engine process certainly holds, by its own clock.

Called by ``engine`` around the calls and the renewals of one process; knows no row.
RULE 3: a worker that was stalled for longer than a lease lasts must not begin a call,
because another worker may hold the resource by now. A released lease must not be renewed,
or no other worker could ever claim the resource.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from datetime import datetime


class LeaseTracker:
    """The lease tokens of a process, each with the time at which its lease expires."""

    def __init__(self) -> None:
        self._until: dict[str, datetime] = {}
        self._holders: Counter[str] = Counter()
        self._guard = threading.Lock()

    @contextmanager
    def track(self, token: str) -> Iterator[None]:
        """Track the token until the work of the context ends."""
        self.hold(token)
        try:
            yield
        finally:
            self.release(token)

    def hold(self, token: str) -> None:
        """Track a token until as many calls of ``release``."""
        with self._guard:
            self._holders[token] += 1

    def release(self, token: str) -> None:
        """Stop tracking the token unless others hold it, too."""
        with self._guard:
            self._holders[token] -= 1
            if self._holders[token] <= 0:
                del self._holders[token]
                self._until.pop(token, None)

    def claim(self, token: str, until: datetime) -> None:
        """Record that resources were claimed under the token until the given time."""
        with self._guard:
            self._until[token] = until

    @property
    def has_claims(self) -> bool:
        """Return whether resources are claimed, under valid leases or expired ones."""
        return bool(self._until)

    def is_valid(self, token: str, now: datetime) -> bool:
        """Return whether the lease of a token has not expired."""
        return token in self.valid_tokens(now)

    def valid_tokens(self, now: datetime) -> frozenset[str]:
        """Return the tokens whose lease has not expired."""
        with self._guard:
            return frozenset(token for token, until in self._until.items() if now < until)

    def extend(self, tokens: Collection[str], until: datetime, now: datetime) -> None:
        """Extend the leases that the store has renewed, except those that expired meanwhile.

        Args:
            tokens: the tokens whose leases the store has renewed.
            until: the new time of expiry.
            now: the time at which the store's answer arrived.
        """
        with self._guard:
            for token in tokens:
                if now < self._until.get(token, now):
                    self._until[token] = until
