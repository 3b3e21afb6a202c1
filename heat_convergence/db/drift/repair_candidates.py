"""The resources whose drift the service may repair by itself, in one statement."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from heat_convergence.common.stored_values import UnreadableValue
from heat_convergence.convergence.drift.observation import DRIFTED, DriftStatus
from heat_convergence.convergence.drift.repair_budget import RepairCandidate, RepairStatus
from heat_convergence.convergence.model.action import Action, Status
from heat_convergence.convergence.model.job import DesiredState
from heat_convergence.db.drift.reads import VALID
from heat_convergence.db.statements.readable_rows import check_row, read_each
from heat_convergence.db.tables import drift_repair as t
from heat_convergence.db.tables import observation, resource, stack, stack_drift, watch_group
from heat_convergence.template.environment.drift_policies import DriftPolicy
from heat_convergence.template.environment.repair_window import window_from_words

_FIELDS = ("stack_id", "project_id", "resource_name", "status", "stack_version")
_root = stack.alias("root")
_control = stack_drift.alias("control")
_root_control = stack_drift.alias("root_control")
_COLUMNS = (
    stack.c.id,
    observation.c.project_id,
    resource.c.name,
    observation.c.status,
    stack.c.version,
    resource.c.hooks_and_restrictions,
    _control.c.repair_window,
    _root_control.c.repair_window,
)


def _is_at_rest(of: Any) -> sa.ColumnElement[bool]:
    """Return the condition of ``repair_end.is_at_rest``."""
    return sa.and_(
        of.c.status == Status.COMPLETE,
        of.c.action.not_in([Action.SUSPEND, Action.DELETE]),
        of.c.deleted_at.is_(None),
    )


def _is_not_paused(control: Any) -> sa.ColumnElement[bool]:
    return sa.or_(control.c.stack_id.is_(None), sa.not_(control.c.paused))


_FROM = (
    observation.join(resource, sa.and_(resource.c.id == observation.c.resource_id, VALID))
    .join(stack, stack.c.id == resource.c.stack_id)
    .join(_root, _root.c.id == sa.func.coalesce(stack.c.root_id, stack.c.id))
    .join(
        watch_group,
        sa.and_(
            watch_group.c.project_id == observation.c.project_id,
            watch_group.c.implementation == observation.c.implementation,
        ),
    )
    .outerjoin(
        t, sa.and_(t.c.stack_id == resource.c.stack_id, t.c.resource_name == resource.c.name)
    )
    .outerjoin(_control, _control.c.stack_id == stack.c.id)
    .outerjoin(_root_control, _root_control.c.stack_id == _root.c.id)
)


def _may_start(now: datetime) -> sa.ColumnElement[bool]:
    """Return the condition of ``ResourceRepair.may_start``, or that there was no repair."""
    is_ended = sa.or_(
        t.c.status != RepairStatus.STARTED,
        t.c.started_at.is_(None),
        t.c.version.is_(None),
        t.c.ended_at.is_not(None),
    )
    is_reset = sa.and_(
        t.c.status == RepairStatus.DEFERRED,
        sa.func.coalesce(t.c.version, 0) < stack.c.version,
    )
    is_due = sa.or_(t.c.next_at <= now, is_reset)
    may_follow = sa.and_(t.c.status != RepairStatus.SUSPENDED, is_ended, is_due)
    return sa.or_(t.c.stack_id.is_(None), may_follow)


def list_candidates(connection: Connection, now: datetime, limit: int) -> list[RepairCandidate]:
    """Return the candidates, those whose drift was seen first before the others."""
    confirmed = watch_group.c.observed_at > observation.c.observed_at
    query = (
        sa.select(*_COLUMNS)
        .select_from(_FROM)
        .where(
            observation.c.policy == DriftPolicy.REPAIR,
            observation.c.status.in_(sorted(DRIFTED)),
            # RULE 10: what is missing must be found missing twice.
            sa.or_(observation.c.status != DriftStatus.DELETED, confirmed),
            _is_at_rest(stack),
            _is_at_rest(_root),
            _is_not_paused(_control),
            _is_not_paused(_root_control),
            resource.c.job_state.is_(None),
            resource.c.status == Status.COMPLETE,
            resource.c.desired == DesiredState.PRESENT,
            _may_start(now),
        )
        .order_by(observation.c.observed_at, observation.c.resource_id)
        .limit(limit)
    )
    return read_each(connection.execute(query), _candidate_of)


def _candidate_of(row: Any) -> RepairCandidate:
    names = (*_FIELDS, "hooks_and_restrictions", "repair_window", "root_repair_window")
    values = check_row(observation.name, names, row)
    *known, words, of_stack, of_root = values
    candidate = dict(zip(_FIELDS, known, strict=True))
    try:
        window = window_from_words(words)
    except ValueError as error:  # without its window, a repair might start at any time
        unreadable = UnreadableValue(f"it has no repair window: {error}", words)
        unreadable.locate(resource.name, "hooks_and_restrictions", candidate["resource_name"])
        raise unreadable.error() from error
    return RepairCandidate(**candidate, window=window or of_stack or of_root)
