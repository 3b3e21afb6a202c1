"""Error boundaries: the only places of the service that catch every exception (RULE 11).

Each boundary has a name and a small piece of work inside it. Whatever that raises is logged with
an id, and the caller decides what fails instead: a resource, a step of a pass, a message.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import TypeVar

from heat_convergence.common.error_log import ErrorLog, ErrorSubject
from heat_convergence.common.evaluation.deferred_evaluation import EvaluationRequired
from heat_convergence.common.failures import ConcurrentTransaction, ResourceFailure, Unavailable

Result = TypeVar("Result")
Handler = Callable[[Exception, str], Result]


class BoundaryName(StrEnum):
    """The boundaries; docs/operate/logging.rst lists what fails at each."""

    REQUEST = "request"
    CONNECTION = "connection"
    DAEMON = "daemon"
    PERIODIC_TASK = "periodic task"
    MESSAGE = "message"
    NOTIFICATION = "notification"
    PASS = "pass"  # nosec B105  # a pass of the observer
    STACK = "stack"
    JOB = "job"
    RESOURCE_TYPE = "resource type"
    LINT_RULE = "lint rule"


TRANSACTION_ERRORS = (Unavailable, ConcurrentTransaction, EvaluationRequired)
"""Reasons to repeat a transaction, about no stack: they pass boundaries in and around one."""


@dataclass(frozen=True, slots=True)
class ErrorBoundary:
    """A named boundary.

    Attributes:
        name: its name in the log.
        errors: the log of unexpected errors.
        passed_on: errors that the caller handles, which pass the boundary.
    """

    name: BoundaryName
    errors: ErrorLog
    passed_on: tuple[type[Exception], ...] = ()

    def run(
        self,
        work: Callable[[], Result],
        failed: Handler[Result],
        subject: ErrorSubject | None = None,
    ) -> Result:
        """Do the work.

        Args:
            work: Function that may raise anything.
            failed: Function of the error and its id in the log that returns the result instead.
            subject: What the work is about.
        """
        try:
            return work()
        except self.passed_on:
            raise
        except Exception as error:  # noqa: BLE001  # RULE 11: the one place that catches all
            error_id = self.errors.report(error, subject or ErrorSubject(), self.name)
            return failed(error, error_id)

    def fail_resource(
        self,
        work: Callable[[], Result],
        failed: Callable[[ResourceFailure], Result],
        subject: ErrorSubject | None = None,
    ) -> Result:
        """Do the work of a resource type; ``failed`` makes the result from its exception."""

        def describe(error: Exception, error_id: str) -> Result:
            return failed(ResourceFailure(f"{_text_of(error)} (error id {error_id})"))

        return self.run(work, describe, subject)

    def contain(
        self, work: Callable[[], object], subject: ErrorSubject | None = None
    ) -> str | None:
        """Do the work; return the id of the error in the log, None if there was none."""
        error_ids: list[str] = []

        def note(_error: Exception, error_id: str) -> None:
            error_ids.append(error_id)

        self.run(work, note, subject)
        return error_ids[0] if error_ids else None


def _text_of(error: Exception) -> str:
    """Return the class and the text of an exception whose text may raise, too."""
    try:
        return f"{type(error).__name__}: {error}"
    except Exception:  # noqa: BLE001  # RULE 11
        return type(error).__name__
