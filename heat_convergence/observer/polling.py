"""Reading reality for resources that are on their way.

Called by ``run_observer`` outside any transaction; changes nothing anywhere.
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
from heat_convergence.convergence.lifecycle.observations import Observation, job_key
from heat_convergence.convergence.model.action import Action
from heat_convergence.convergence.model.job import DesiredState, JobState, ObservedState, Verb
from heat_convergence.convergence.model.resource import InputResource, Resource
from heat_convergence.convergence.model.stack import Stack
from heat_convergence.resources.protocol.resource_context import (
    VerbInputs,
    build_context,
    with_name_limit,
)
from heat_convergence.resources.protocol.resource_type import (
    REOBSERVE_AFTER_S,
    ResourceContext,
    ResourceType,
    VerbResult,
)
from heat_convergence.resources.redaction import redact_secrets
from heat_convergence.resources.registry import ResourceTypeRegistry

LOG = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class ObservationBatch:
    """The resources of one stack to poll; ``inputs`` are its ``observed_dependencies``."""

    stack: Stack
    rows: Sequence[Resource]
    inputs: Mapping[str, InputResource]
    cloud: Any = None


def poll_resources(
    batches: Sequence[ObservationBatch], registry: ResourceTypeRegistry, now: datetime
) -> dict[str, dict[str, Observation]]:
    """Return the observations by the id of the stack and of the resource.

    Rows whose outcome an engine recorded already are not polled again and are left out; a
    retry's observation says only that its time has come.  Types with
    ``observes_across_stacks`` are polled for all stacks at once.
    """
    observations: dict[str, dict[str, Observation]] = {one.stack.id: {} for one in batches}
    polls: dict[tuple[str, str], list[tuple[Resource, ResourceContext]]] = {}
    for one in batches:
        for row in one.rows:
            if row.job.state is JobState.RETRY:
                observations[one.stack.id][row.id] = Observation(
                    ObservedState.BUSY, job=job_key(row)
                )
            elif (
                row.job.state is JobState.AWAITING_OBSERVATION
                and row.observation.state is ObservedState.BUSY
            ):
                resource_type = registry.find(row.desired.implementation)
                if resource_type is None:
                    unknown = str(EntityNotFound("Resource Type", row.desired.implementation))
                    observations[one.stack.id][row.id] = Observation(
                        ObservedState.FAILED, unknown, job=job_key(row)
                    )
                    continue
                if resource_type.has_nested_stack:
                    continue  # its rows are read in the transaction that records the observations
                where = "" if resource_type.observes_across_stacks else one.stack.id
                inputs = VerbInputs(dependencies=one.inputs, cloud=one.cloud)
                view = build_context(row, one.stack, _action(row), now, inputs)
                view = with_name_limit(view, resource_type.physical_name_limit)
                polls.setdefault((where, resource_type.name), []).append((row, view))
    for (_, name), members in sorted(polls.items()):
        rows, views = zip(*members, strict=True)
        stacks = {row.id: row.stack_id for row in rows}
        for row_id, observation in _look_at_type(registry.get(name), rows, views).items():
            observations[stacks[row_id]][row_id] = observation
    return observations


def _action(row: Resource) -> Action:
    """Return the action of the job; the row shows a check if a user marked it unhealthy."""
    if row.job.verb is None or row.job.verb in (Verb.CONVERGE, Verb.ADOPT):
        return row.state.action
    return Action(row.job.verb.value)


def observed_dependencies(
    rows: Sequence[Resource], registry: ResourceTypeRegistry
) -> frozenset[str]:
    """Names of other resources that a look at these takes."""
    names: set[str] = set()
    for row in rows:
        resource_type = registry.find(row.desired.implementation)
        if resource_type is not None and resource_type.observes_dependencies:
            names.update(row.desired.referenced_names)
    return frozenset(names)


def _look_at_type(
    resource_type: ResourceType, rows: Sequence[Resource], views: Sequence[ResourceContext]
) -> Mapping[str, Observation]:
    looks = _observe(resource_type, views)
    return {row.id: _make_observation(resource_type, row, looks.get(row.id)) for row in rows}


def _observe(
    resource_type: ResourceType, views: Sequence[ResourceContext]
) -> Mapping[str, VerbResult]:
    try:
        return resource_type.observe_many(views)
    except Error as error:
        if error.retry is not Retry.NEVER:
            return {view.resource_id: VerbResult.undecided(error) for view in views}
        return {view.resource_id: _observe_one(resource_type, view) for view in views}
    except Exception:
        # Third-party code may raise anything; the other resources are observed nevertheless.
        LOG.exception(
            "resource type raised an exception: resource_type=%(resource_type)s",
            {"resource_type": resource_type.name},
        )
        return {view.resource_id: _observe_one(resource_type, view) for view in views}


def _observe_one(resource_type: ResourceType, view: ResourceContext) -> VerbResult:
    """Observe one resource, where observing all at once failed because of one of them."""
    try:
        return resource_type.observe(view)
    except ResourceGone:
        return VerbResult(ObservedState.ABSENT, reason="the physical resource is gone")
    except Error as error:
        if error.retry is not Retry.NEVER:
            return VerbResult.undecided(error)
        return VerbResult.from_error(error)
    except Exception as error:
        LOG.exception(
            "resource type raised an exception: stack=%(stack)s resource=%(resource)s",
            {"stack": view.stack_id, "resource": view.name},
        )
        return VerbResult.from_error(ResourceFailure(f"{type(error).__name__}: {error}"))


def _make_observation(
    resource_type: ResourceType, row: Resource, look: VerbResult | None
) -> Observation:
    job = job_key(row)
    if look is None:
        return Observation(ObservedState.BUSY, recheck_after_s=REOBSERVE_AFTER_S, job=job)
    observed, reason = look.observed, redact_secrets(look.reason, row, resource_type)
    if observed is ObservedState.READY and row.desired.state is DesiredState.ABSENT:
        observed = ObservedState.BUSY  # whatever its health: it is still there
    if look.observed in (ObservedState.FAILED, ObservedState.ABSENT):
        reason = f"{look.error_name}: resources.{row.name}: {reason or 'it is gone'}"
    return Observation(
        observed,
        reason,
        look.poll_after_s,
        look.attributes,
        look.data,
        look.retry_with_new_incarnation,
        job=job,
    )
