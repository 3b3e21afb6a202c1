"""The decision which repairs may start: the window, the budget, the pauses, and the limit.

Called by the stores under the lock of a project. Must read nothing but its arguments, and change
nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any

from heat_convergence.convergence.drift.observation import DriftStatus
from heat_convergence.template.environment.repair_window import RepairWindow

Json = Any
BUDGET_PERIOD = timedelta(hours=1)
_MAX_DOUBLINGS = 30


class RepairStatus(StrEnum):
    """The status of the repairs of one resource."""

    STARTED = "STARTED"  # the last one was started; another may follow after a pause
    DEFERRED = "DEFERRED"  # it waits for the budget, or for its window
    SUSPENDED = "SUSPENDED"  # it has not lasted too often, and waits for a user


class RepairOutcome(StrEnum):
    """The way in which a repair has ended."""

    REPAIRED = "REPAIRED"  # its update is complete
    NOT_LASTING = "NOT_LASTING"  # so it was, and the resource has drifted again
    FAILED = "FAILED"  # its update has failed, or was never started
    SUPERSEDED = "SUPERSEDED"  # a newer request came before its result was known


@dataclass(frozen=True, slots=True)
class RepairLimits:
    """Limits of the repairs that no user has requested.

    Attributes:
        per_stack: destructive repairs of a stack in an hour.
        per_project: destructive repairs of a project in an hour.
        tries: repairs of one resource, none of which has lasted, before they are suspended.
        backoff_s: seconds before the second repair of a resource; doubled for each further one.
        backoff_max_s: the longest pause between two of them.
        lasting_s: seconds after which a repair counts as one that has lasted.
        window: the window of resources that have no other one; None if they may start always.
    """

    per_stack: int = 5
    per_project: int = 20
    tries: int = 5
    backoff_s: float = 60.0
    backoff_max_s: float = 3600.0
    lasting_s: float = 86400.0
    window: RepairWindow | None = None

    def pause_s(self, tries: int) -> float:
        """Return the seconds between the repair with this number and the next one."""
        return min(self.backoff_s * 2.0 ** min(tries - 1, _MAX_DOUBLINGS), self.backoff_max_s)


@dataclass(frozen=True, slots=True, kw_only=True)
class RepairCandidate:
    """A resource whose drift its policy lets the service repair.

    Attributes:
        status: the drift; what is missing or in error is created anew.
        stack_version: the version of the stack, which has no traversal under way.
        window: the window that the environment or a user has set; None for the operator's.
    """

    stack_id: str
    project_id: str
    resource_name: str
    status: DriftStatus
    stack_version: int = 0
    window: RepairWindow | None = None

    @property
    def key(self) -> tuple[str, str]:
        """The stack and the name, which outlast an incarnation."""
        return self.stack_id, self.resource_name

    @property
    def is_destructive(self) -> bool:
        """True if the repair replaces the physical resource."""
        return self.status is not DriftStatus.MODIFIED


@dataclass(frozen=True, slots=True, kw_only=True)
class ResourceRepair:
    """The repairs of one resource, whatever its incarnation.

    Attributes:
        tries: the repairs since the last one that has lasted.
        reason: why the next repair is deferred or suspended, or the last one has failed; else
            empty.
        started_at: when the last repair was started.
        next_at: the time before which no other one starts.
        destructive_at: when destructive repairs were started, in the last hour of the row.
        version: the version of the traversal of the last repair; of a deferred one, the version
            of the stack that it was deferred at. None in rows of an earlier release.
        ended_at: when the last repair ended; None while it goes on.
        outcome: how it ended; None while it goes on.
    """

    stack_id: str
    resource_name: str
    project_id: str
    tries: int = 0
    status: RepairStatus = RepairStatus.STARTED
    reason: str = ""
    started_at: datetime | None = None
    next_at: datetime
    destructive_at: tuple[datetime, ...] = ()
    version: int | None = None
    ended_at: datetime | None = None
    outcome: RepairOutcome | None = None

    @property
    def key(self) -> tuple[str, str]:
        """The stack and the name of the resource."""
        return self.stack_id, self.resource_name

    @property
    def is_running(self) -> bool:
        """True if a repair was started and its end was not recorded."""
        started = self.status is RepairStatus.STARTED and self.started_at is not None
        return started and self.version is not None and self.ended_at is None

    def may_start(self, stack_version: int, now: datetime) -> bool:
        """Return whether another repair may be decided about.

        A deferred one may be as soon as the stack was updated, since its window may be another.
        """
        if self.status is RepairStatus.SUSPENDED or self.is_running:
            return False
        is_reset = self.status is RepairStatus.DEFERRED and (self.version or 0) < stack_version
        return self.next_at <= now or is_reset


@dataclass(frozen=True, slots=True)
class RepairDecision:
    """The repairs to start, and the rows that record what was decided.

    Attributes:
        granted: the candidates whose repair starts.
        changed: the rows to store.
    """

    granted: tuple[RepairCandidate, ...]
    changed: tuple[ResourceRepair, ...]

    @property
    def suspended(self) -> tuple[ResourceRepair, ...]:
        """The rows whose repairs are suspended from now on, by stack and name."""
        found = [row for row in self.changed if row.status is RepairStatus.SUSPENDED]
        return tuple(sorted(found, key=lambda row: row.key))


def decide_repairs(
    candidates: Iterable[RepairCandidate],
    known: Sequence[ResourceRepair],
    limits: RepairLimits,
    now: datetime,
) -> RepairDecision:
    """Decide which repairs of one project may start.

    Args:
        candidates: the resources; those that are too early or suspended are left out.
        known: the rows of the project's resources that were repaired.
        limits: the limits.
        now: the time.
    """
    rows = {row.key: row for row in known}
    granted: list[RepairCandidate] = []
    changed: dict[tuple[str, str], ResourceRepair] = {}
    for candidate in sorted(candidates, key=lambda each: (each.is_destructive, each.key)):
        row = _current_row(candidate, rows, limits, now)
        if not row.may_start(candidate.stack_version, now):
            continue
        after = _next_row(candidate, row, rows, limits, now)
        if after.status is RepairStatus.STARTED:
            granted.append(candidate)
        rows[candidate.key] = changed[candidate.key] = after
    return RepairDecision(tuple(granted), tuple(changed.values()))


def _current_row(
    candidate: RepairCandidate,
    rows: Mapping[tuple[str, str], ResourceRepair],
    limits: RepairLimits,
    now: datetime,
) -> ResourceRepair:
    """Return the row of a candidate; earlier tries do not count if the last one has lasted."""
    row = rows.get(candidate.key)
    if row is None:
        return ResourceRepair(
            stack_id=candidate.stack_id,
            resource_name=candidate.resource_name,
            project_id=candidate.project_id,
            next_at=now,
        )
    lasted = row.started_at is not None and row.started_at <= now - timedelta(
        seconds=limits.lasting_s
    )
    if lasted and row.status is not RepairStatus.SUSPENDED:
        return replace(row, tries=0)
    return row


def _next_row(
    candidate: RepairCandidate,
    row: ResourceRepair,
    rows: Mapping[tuple[str, str], ResourceRepair],
    limits: RepairLimits,
    now: datetime,
) -> ResourceRepair:
    """Return the row after the decision about its candidate."""
    if row.outcome is RepairOutcome.REPAIRED:
        row = replace(row, outcome=RepairOutcome.NOT_LASTING)
    if row.tries >= limits.tries:
        reason = f"{row.tries} repairs have not lasted; the last difference was {candidate.status}"
        return replace(row, status=RepairStatus.SUSPENDED, reason=reason)
    spent = _recent(row.destructive_at, now)
    free_at, reason = _window(candidate, limits, now)
    if free_at is None and candidate.is_destructive:
        free_at, reason = _budget(candidate, rows.values(), limits, now)
        spent = spent if free_at is not None else (*spent, now)
    if free_at is not None:
        return replace(
            row,
            status=RepairStatus.DEFERRED,
            reason=reason,
            next_at=free_at,
            destructive_at=spent,
            version=candidate.stack_version,
        )
    pause = timedelta(seconds=limits.pause_s(row.tries + 1))
    return replace(
        row,
        tries=row.tries + 1,
        status=RepairStatus.STARTED,
        reason="",
        started_at=now,
        next_at=now + pause,
        destructive_at=spent,
        version=candidate.stack_version + 1,
        ended_at=None,
        outcome=None,
    )


def _window(
    candidate: RepairCandidate, limits: RepairLimits, now: datetime
) -> tuple[datetime | None, str]:
    """Return when the window of a candidate opens, and why it waits; None if it is open."""
    window = candidate.window or limits.window
    start = now if window is None else window.find_start(now)
    return (start, f"repairs start in the window {window}") if start > now else (None, "")


def _budget(
    candidate: RepairCandidate,
    rows: Iterable[ResourceRepair],
    limits: RepairLimits,
    now: datetime,
) -> tuple[datetime | None, str]:
    """Return when the budget allows another destructive repair, and why not before.

    The time is None if it allows one now.
    """
    of_stack: list[datetime] = []
    of_project: list[datetime] = []
    for row in rows:
        spent = _recent(row.destructive_at, now)
        of_project += spent
        of_stack += spent if row.stack_id == candidate.stack_id else ()
    for spent_at, limit, noun in (
        (of_stack, limits.per_stack, "stack"),
        (of_project, limits.per_project, "project"),
    ):
        if len(spent_at) >= limit:
            reason = f"the {noun} has had {len(spent_at)} destructive repairs in an hour"
            # A limit of 0 allows none: it is looked at again after the period.
            return min(spent_at, default=now) + BUDGET_PERIOD, reason
    return None, ""


def _recent(times: Iterable[datetime], now: datetime) -> tuple[datetime, ...]:
    return tuple(time for time in times if time > now - BUDGET_PERIOD)
