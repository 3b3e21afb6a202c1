"""Reading reality for resources that are on their way.

Called by ``observer`` outside any transaction; changes nothing anywhere.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from heat_convergence.common.errors import (
    EntityNotFound,
    Error,
    ResourceFailure,
    ResourceGone,
    Retry,
)
from heat_convergence.convergence.failing import Sighting, job_of
from heat_convergence.convergence.model import (
    Action,
    Desired,
    Input,
    JobState,
    Observed,
    Resource,
    Stack,
    Verb,
)
from heat_convergence.resources.hiding import without_secrets
from heat_convergence.resources.plugin import Look, ResourceType, View
from heat_convergence.resources.registry import Registry
from heat_convergence.resources.views import named_within, view_of

LOG = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Due:
    """What is to be looked at of one stack; ``inputs`` has what ``names_seen`` asks for."""

    stack: Stack
    rows: Sequence[Resource]
    inputs: Mapping[str, Input]
    cloud: Any = None


def look_at(
    due: Sequence[Due], registry: Registry, now: datetime
) -> dict[str, dict[str, Sighting]]:
    """Stack id → resource id → what was seen.

    Rows whose outcome an engine recorded already are not looked at again and are
    left out; a retry's sighting says only that its time has come.  Types that say so
    are asked for all stacks at once.
    """
    seen: dict[str, dict[str, Sighting]] = {one.stack.id: {} for one in due}
    asked: dict[tuple[str, str], list[tuple[Resource, View]]] = {}
    for one in due:
        for row in one.rows:
            if row.job_state is JobState.RETRY:
                seen[one.stack.id][row.id] = Sighting(Observed.BUSY, job=job_of(row))
            elif row.job_state is JobState.WATCHED and row.observed is Observed.BUSY:
                kind = registry.find(row.implementation)
                if kind is None:
                    unknown = str(EntityNotFound("Resource Type", row.implementation))
                    seen[one.stack.id][row.id] = Sighting(
                        Observed.FAILED, unknown, job=job_of(row)
                    )
                    continue
                if kind.nested:
                    continue  # rows tell, in the transaction that takes note
                where = "" if kind.looks_across_stacks else one.stack.id
                view = view_of(
                    row, one.stack, _action(row), now, inputs=one.inputs, cloud=one.cloud
                )
                view = named_within(view, kind.physical_name_limit)
                asked.setdefault((where, kind.name), []).append((row, view))
    for (_, name), members in sorted(asked.items()):
        rows, views = zip(*members, strict=True)
        stacks = {row.id: row.stack_id for row in rows}
        for row_id, sighting in _look_at_type(registry.get(name), rows, views).items():
            seen[stacks[row_id]][row_id] = sighting
    return seen


def _action(row: Resource) -> Action:
    """What is being done to it: the job's own word, for a user may have called the
    resource ill meanwhile, which its row shows as a check."""
    if row.job is None or row.job in (Verb.CONVERGE, Verb.ADOPT):
        return row.action
    return Action(row.job.value)


def names_seen(rows: Sequence[Resource], registry: Registry) -> frozenset[str]:
    """Names of other resources that a look at these takes."""
    names: set[str] = set()
    for row in rows:
        kind = registry.find(row.implementation)
        if kind is not None and kind.sees_others:
            names.update(row.draws_on)
    return frozenset(names)


def _look_at_type(
    kind: ResourceType, rows: Sequence[Resource], views: Sequence[View]
) -> Mapping[str, Sighting]:
    looks = _observe(kind, views)
    return {row.id: _sighting(kind, row, looks.get(row.id)) for row in rows}


def _observe(kind: ResourceType, views: Sequence[View]) -> Mapping[str, Look]:
    try:
        return kind.observe_many(views)
    except Error as error:
        if error.retry is not Retry.NEVER:
            return {}
        return {view.resource_id: _observe_one(kind, view) for view in views}
    except Exception:
        # The edge towards third-party code: it must not keep others from being seen.
        LOG.exception("resource type raised: type %(type)s", {"type": kind.name})
        return {view.resource_id: _observe_one(kind, view) for view in views}


def _observe_one(kind: ResourceType, view: View) -> Look:
    """One by one, where a look at all failed for good because of one of them."""
    try:
        return kind.observe(view)
    except ResourceGone:
        return Look(Observed.ABSENT, reason="the physical resource is gone")
    except Error as error:
        if error.retry is not Retry.NEVER:
            return Look(Observed.BUSY)
        return Look.failed(error)
    except Exception as error:
        LOG.exception("resource type raised: resource %(resource)s",
                      {"resource": view.resource_id})
        return Look.failed(ResourceFailure(f"{type(error).__name__}: {error}"))


def _sighting(kind: ResourceType, row: Resource, look: Look | None) -> Sighting:
    job = job_of(row)
    if look is None:
        return Sighting(Observed.BUSY, again_s=5.0, job=job)
    observed, reason = look.observed, without_secrets(look.reason, row, kind)
    if observed is Observed.READY and row.desired is Desired.ABSENT:
        observed = Observed.BUSY  # whatever its health: it is still there
    if look.observed in (Observed.FAILED, Observed.ABSENT):
        reason = f"{look.error}: resources.{row.name}: {reason or 'it is gone'}"
    return Sighting(
        observed, reason, look.again_s, look.attributes, look.data, look.retry, job=job
    )
