"""The reports of the watch: lines in the log, metrics and notifications.

Called by ``drift_watch`` and ``drift_repairs`` when something was recorded. Decides nothing.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Sequence

from heat_convergence.common import metrics
from heat_convergence.convergence.drift.announcements import (
    Announce,
    announce_breaker,
    announce_observation,
    announce_repair,
    announce_repair_end,
    announce_suspended_repairs,
)
from heat_convergence.convergence.drift.observation import (
    MassLossBreaker,
    ResourceObservation,
    WatchedResource,
    WatchGroup,
)
from heat_convergence.convergence.drift.repair_budget import RepairCandidate, ResourceRepair
from heat_convergence.convergence.drift.repair_end import RepairEnd

LOG = logging.getLogger(__name__)
_NUMBERS = "project=%(project)s type=%(type)s region=%(region)s lost=%(lost)s total=%(total)s"
_SUSPECTED = f"mass loss suspected: {_NUMBERS}"
_OVER = f"mass loss over: {_NUMBERS}"


class DriftReports:
    """The reports of one worker process.

    Args:
        announce: Sends notifications.
    """

    def __init__(self, announce: Announce) -> None:
        self._announce = announce

    def report_observations(
        self, watched: Iterable[WatchedResource], changed: Sequence[ResourceObservation]
    ) -> None:
        """Report observations that differ from the recorded ones."""
        if not changed:
            return
        by_id = {each.row.id: each for each in watched}
        for each in changed:
            metrics.DRIFT_OBSERVATIONS.labels(str(each.status)).inc()
            if each.properties or each.reason:
                LOG.info(
                    "drift observed: stack=%(stack)s resource=%(resource)s status=%(status)s",
                    {"stack": each.stack_id, "resource": each.resource_id, "status": each.status},
                )
        found = [announce_observation(by_id[each.resource_id], each) for each in changed]
        self._announce([each for each in found if each is not None])

    def report_unread(self, group: WatchGroup, reason: str) -> None:
        """Report that a group could not be read, unless the reason is that of the last read."""
        if reason and reason != group.reason:
            LOG.warning(
                "resources could not be read: project=%(project)s type=%(type)s error=%(error)s",
                {"project": group.project_id, "type": group.implementation, "error": reason},
            )

    def report_breaker(self, breaker: MassLossBreaker, *, is_open: bool) -> None:
        """Report that a mass loss is suspected, or over."""
        metrics.MASS_LOSSES.labels("suspected" if is_open else "over").inc()
        LOG.warning(_SUSPECTED if is_open else _OVER, _numbers(breaker))
        self._announce([announce_breaker(breaker, is_open=is_open)])

    def report_repair(self, granted: Sequence[RepairCandidate]) -> None:
        """Report that the repair of resources of one stack has started."""
        for each in granted:
            metrics.REPAIRS.labels(str(each.status)).inc()
            LOG.info(
                "repair started: stack=%(stack)s resource=%(resource)s status=%(status)s",
                {
                    "stack": each.stack_id,
                    "resource": each.resource_name,
                    "status": each.status,
                },
            )
        self._announce([announce_repair(granted)])

    def report_suspended(self, suspended: Sequence[ResourceRepair]) -> None:
        """Report that no other repair of resources of one project starts, by stack and name."""
        for each in suspended:
            metrics.SUSPENDED_REPAIRS.inc()
            LOG.warning(
                "repairs suspended: stack=%(stack)s resource=%(resource)s reason=%(reason)s",
                {
                    "stack": each.stack_id,
                    "resource": each.resource_name,
                    "reason": each.reason,
                },
            )
        self._announce(announce_suspended_repairs(suspended))

    def report_ends(self, ends: Sequence[RepairEnd]) -> None:
        """Report the ends of repairs of one project, by stack and name."""
        for each in ends:
            metrics.REPAIR_ENDS.labels(str(each.outcome)).inc()
            LOG.info(
                "repair ended: stack=%(stack)s resource=%(resource)s outcome=%(outcome)s",
                {
                    "stack": each.repair.stack_id,
                    "resource": each.repair.resource_name,
                    "outcome": each.outcome,
                },
            )
        self._announce(announce_repair_end(ends))


def _numbers(breaker: MassLossBreaker) -> dict[str, object]:
    """Return the fields of the log lines about a breaker."""
    return {
        "project": breaker.project_id,
        "type": breaker.implementation,
        "region": breaker.region,
        "lost": breaker.lost,
        "total": breaker.total,
    }
