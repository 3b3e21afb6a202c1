"""The check that no lock of the database is held while a user's expression is evaluated.

Stores report their transactions with ``holding_locks``; the evaluator calls
``check_no_locks_held`` before it starts.  An expression may take as long as its limits
allow, and whoever needs a locked row would wait for it (RULE 11).  The check costs nothing
unless ``reject_evaluation_under_locks`` was called, as tests and the simulator do: an
operator's service is not to fail over it.  Must not know what is evaluated or locked.
"""

from __future__ import annotations

from contextlib import AbstractContextManager
from contextvars import ContextVar

_LOCKS_HELD: ContextVar[bool] = ContextVar("locks_held", default=False)
_REJECTING: list[bool] = []  # not empty once the check is on, for the whole process
violations: list[str] = []
"""Descriptions of rejected evaluations, as an error boundary may catch the exception."""


class EvaluationUnderLocks(AssertionError):
    """An expression was to be evaluated inside a transaction that may hold locks."""


def reject_evaluation_under_locks() -> None:
    """Have ``check_no_locks_held`` raise in this process from now on."""
    if not _REJECTING:
        _REJECTING.append(True)


class _HoldingLocks(AbstractContextManager[None]):
    """A block that is a transaction; a class, since a generator costs several times as much."""

    __slots__ = ("_token",)

    def __enter__(self) -> None:
        self._token = _LOCKS_HELD.set(True)

    def __exit__(self, *_error: object) -> None:
        _LOCKS_HELD.reset(self._token)


def holding_locks() -> AbstractContextManager[None]:
    """Mark the block as a transaction that may hold locks."""
    return _HoldingLocks()


def are_locks_held() -> bool:
    """Return whether a transaction that may hold locks is open here."""
    return _LOCKS_HELD.get()


def check_no_locks_held(activity: str) -> None:
    """Raise ``EvaluationUnderLocks`` inside ``holding_locks``, where the check is on.

    Args:
        activity: what is about to start, for the message.
    """
    if _REJECTING and _LOCKS_HELD.get():
        violations.append(activity)
        raise EvaluationUnderLocks(f"{activity} inside a transaction that may hold locks")
