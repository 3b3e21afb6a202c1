"""The log of stacks and resources for operators: constant messages with fields.

Called by the daemons, which collect the reports of a transaction and log them after the
commit, and by the API.  Must not log values of resources: reasons have no secrets.
"""

from __future__ import annotations

import logging
from functools import partial

from heat_convergence.common import metrics
from heat_convergence.common.clock import utc_now
from heat_convergence.common.error_boundary import BoundaryName, ErrorBoundary
from heat_convergence.common.error_log import ErrorLog
from heat_convergence.convergence.lifecycle.context import RESOURCE_CHANGES, Report
from heat_convergence.convergence.model.action import Status
from heat_convergence.convergence.model.stack import Stack

LOG = logging.getLogger(__name__)

_STACK_FIELDS = (
    "project=%(project)s stack=%(stack)s name=%(name)s version=%(version)s"
    " action=%(action)s reason=%(reason)s"
)
_RESOURCE_FIELDS = (
    "project=%(project)s stack=%(stack)s version=%(version)s resource=%(name)s"
    " resource_id=%(resource_id)s action=%(action)s reason=%(reason)s"
)


class EventLog:
    """The reports of one transaction, logged once it is committed."""

    def __init__(self, errors: ErrorLog | None = None) -> None:
        self._reports: list[Report] = []
        self._boundary = ErrorBoundary(BoundaryName.NOTIFICATION, errors or ErrorLog())

    def add(self, report: Report) -> None:
        """Keep a report until ``flush``."""
        self._reports.append(report)

    def flush(self) -> None:
        """Log the reports; never raise, as what they are about is committed."""
        for report in self._reports:
            self._boundary.contain(partial(log_report, report))
        self._reports.clear()


def log_report(report: Report) -> None:
    """Count and log a report: at INFO, or at DEBUG for what happens to every resource."""
    _count(report)
    level = logging.DEBUG if report.is_routine else logging.INFO
    if not LOG.isEnabledFor(level):
        return
    subject = report.subject
    fields: dict[str, object] = {
        "name": subject.name,
        "action": report.action,
        "reason": report.reason,
    }
    if isinstance(subject, Stack):
        fields |= {
            "project": subject.project_id,
            "stack": subject.id,
            "version": subject.version,
        }
        LOG.log(level, f"{report.change}: {_STACK_FIELDS}", fields)
        return
    fields |= {
        "project": subject.identity.project_id,
        "stack": subject.stack_id,
        "resource_id": subject.id,
        "version": subject.job.version,
    }
    LOG.log(level, f"{report.change}: {_RESOURCE_FIELDS}", fields)


def _count(report: Report) -> None:
    metrics.CHANGES.labels(report.change, str(report.action)).inc()
    if report.change != RESOURCE_CHANGES[Status.IN_PROGRESS] or isinstance(report.subject, Stack):
        return
    posted_at = report.subject.job.posted_at
    if posted_at is not None:
        wait_s = (utc_now() - posted_at).total_seconds()
        metrics.JOB_WAIT_SECONDS.observe(max(wait_s, 0.0))
