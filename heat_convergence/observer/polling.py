"""Reading reality for resources that are on their way.

Called by ``run_observer`` outside any transaction; changes nothing anywhere.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import partial
from typing import Any

from heat_convergence.common.error_boundary import BoundaryName, ErrorBoundary
from heat_convergence.common.error_log import ErrorLog, ErrorSubject
from heat_convergence.common.errors import Error, Retry
from heat_convergence.common.failures import ResourceFailure, ResourceGone
from heat_convergence.common.telemetry import tracing
from heat_convergence.common.telemetry.request_contexts import NO_STACK_REQUESTS, StackRequests
from heat_convergence.convergence.lifecycle.observations import Observation, job_key
from heat_convergence.convergence.model.action import Action
from heat_convergence.convergence.model.job import DesiredState, JobState, ObservedState, Verb
from heat_convergence.convergence.model.resource import InputResource, Resource
from heat_convergence.convergence.model.stack import Stack
from heat_convergence.convergence.planning.job_steps import is_health_demanded
from heat_convergence.observer.readiness.window_reads import (
    build_window_context,
    is_window_read,
    observe_unread,
    read_at_rest,
)
from heat_convergence.resources.protocol.call_groups import CallGroups, call_groups
from heat_convergence.resources.protocol.resource_context import (
    VerbInputs,
    build_context,
    with_name_limit,
)
from heat_convergence.resources.protocol.resource_type import ResourceType
from heat_convergence.resources.protocol.verb_values import (
    REOBSERVE_AFTER_S,
    ResourceContext,
    VerbResult,
)
from heat_convergence.resources.protocol.watchable import is_read_by_watch
from heat_convergence.resources.redaction import redact_secrets
from heat_convergence.resources.registry import MISSING_TYPE_PAUSE_S, ResourceTypeRegistry


@dataclass(frozen=True, slots=True)
class ObservationBatch:
    """The resources of one stack to poll; ``inputs`` are its ``observed_dependencies``."""

    stack: Stack
    rows: Sequence[Resource]
    inputs: Mapping[str, InputResource]
    cloud: Any = None


@dataclass(slots=True)
class PollResult:
    """Observations, and all resources that are to be processed with them.

    Attributes:
        resource_ids: The ids by the id of their stack.
        observations: The observations by the id of the stack and of the resource.
    """

    resource_ids: dict[str, list[str]] = field(default_factory=dict)
    observations: dict[str, dict[str, Observation]] = field(default_factory=dict)

    def add(self, row: Resource, observation: Observation | None) -> None:
        """Add a resource, with its observation unless it is as an engine has recorded it."""
        self.resource_ids.setdefault(row.stack_id, []).append(row.id)
        if observation is not None:
            taken = replace(observation, postponed_to=row.observation.observe_at)
            self.observations.setdefault(row.stack_id, {})[row.id] = taken

    def made_at(self, now: datetime) -> PollResult:
        """Return the result with the time of its observations."""
        for found in self.observations.values():
            for row_id, observation in found.items():
                found[row_id] = replace(observation, made_at=now)
        return self

    def merge(self, other: PollResult) -> None:
        """Add the resources of another result."""
        for stack_id, ids in other.resource_ids.items():
            self.resource_ids.setdefault(stack_id, []).extend(ids)
        for stack_id, found in other.observations.items():
            self.observations.setdefault(stack_id, {}).update(found)


@dataclass(slots=True)
class PollGroup:
    """Resources of one project that are observed by calls to one service of a region.

    Attributes:
        polls: The resources by the stack, "" for all at once, and by the resource type.
    """

    polls: dict[tuple[str, str], list[tuple[Resource, ResourceContext]]] = field(
        default_factory=dict
    )

    def merge(self, newer: PollGroup) -> None:
        """Add the resources of a newer group, whose rows count where both have them."""
        for key, members in newer.polls.items():
            ids = {row.id for row, _ in members}
            kept = [each for each in self.polls.get(key, ()) if each[0].id not in ids]
            self.polls[key] = [*kept, *members]

    def run(
        self,
        registry: ResourceTypeRegistry,
        errors: ErrorLog,
        requests: StackRequests = NO_STACK_REQUESTS,
    ) -> PollResult:
        """Observe the resources, those of a stack for the last request about it."""
        result, boundary = PollResult(), _boundary(errors)
        for (_, name), members in sorted(self.polls.items()):
            rows, views = zip(*members, strict=True)
            stacks = sorted({row.stack_id for row in rows})
            with (
                requests.resumed(*stacks),
                tracing.span(
                    "observation", resource_type=name, resources=len(rows), stack=stacks[0]
                ),
            ):
                looks = _look_at_type(registry.get(name), rows, views, boundary)
            for row in rows:
                result.add(row, looks[row.id])
        return result


PollGroups = dict[CallGroups, PollGroup]


@dataclass(frozen=True, slots=True)
class _Poll:
    """A resource to observe; ``groups`` are None without I/O."""

    resource_type: ResourceType
    view: ResourceContext
    groups: CallGroups | None


def plan_polls(
    batches: Sequence[ObservationBatch],
    registry: ResourceTypeRegistry,
    now: datetime,
    errors: ErrorLog,
) -> tuple[PollResult, PollGroups]:
    """Return what is known without an observation, and the others in groups.

    Rows whose outcome an engine recorded already are not polled again and have no
    observation; a retry's observation says only that its time has come.  Types with
    ``observes_across_stacks`` are polled for all stacks at once, types without I/O in place.
    """
    known, local, groups = PollResult(), PollGroup(), PollGroups()
    boundary = _boundary(errors)
    for one in batches:
        for row in one.rows:
            # RULE 11: a row that cannot be read fails its resource and no pass over others.
            found = boundary.fail_resource(
                partial(_plan_poll, row, one, registry, now),
                partial(_failed, row),
                ErrorSubject(one.stack.id, row.name),
            )
            if not isinstance(found, _Poll):
                known.add(row, found)
                continue
            group = local
            if found.groups is not None:
                group = groups.setdefault(found.groups, PollGroup())
            where = "" if found.resource_type.observes_across_stacks else one.stack.id
            members = group.polls.setdefault((where, found.resource_type.name), [])
            members.append((row, found.view))
    known.merge(local.run(registry, errors))
    return known, groups


def _boundary(errors: ErrorLog) -> ErrorBoundary:
    return ErrorBoundary(BoundaryName.RESOURCE_TYPE, errors)


def _plan_poll(
    row: Resource, batch: ObservationBatch, registry: ResourceTypeRegistry, now: datetime
) -> Observation | _Poll | None:
    """Return what to poll, or the observation of a row that is not polled, None for neither."""
    if row.job.state is JobState.RETRY:
        return Observation(ObservedState.BUSY, job=job_key(row))
    if is_window_read(row, batch.stack):
        return _plan_window_read(row, batch, registry, now)
    awaited = row.job.state is JobState.AWAITING_OBSERVATION
    if not awaited or row.observation.state is not ObservedState.BUSY:
        return None
    resource_type = registry.find(row.desired.implementation)
    if resource_type is None:
        # Another observer may have the type, during an upgrade or the installation of a plug-in.
        return Observation(
            ObservedState.BUSY, recheck_after_s=MISSING_TYPE_PAUSE_S, job=job_key(row)
        )
    if resource_type.has_nested_stack:
        return None  # its rows are read in the transaction that records the observations
    inputs = VerbInputs(dependencies=batch.inputs, cloud=batch.cloud)
    view = build_context(row, batch.stack, _action(row), now, inputs)
    view = with_name_limit(view, resource_type.physical_name_limit)
    groups = None if resource_type.local else call_groups(resource_type, view)
    return _Poll(resource_type, view, groups)


def _plan_window_read(
    row: Resource, batch: ObservationBatch, registry: ResourceTypeRegistry, now: datetime
) -> Observation | _Poll:
    resource_type = registry.find(row.desired.implementation)
    if resource_type is None or not is_read_by_watch(resource_type):
        return observe_unread(row, resource_type)
    view = build_window_context(row, batch.stack, now, batch.cloud)
    view = with_name_limit(view, resource_type.physical_name_limit)
    return _Poll(resource_type, view, call_groups(resource_type, view))


def _failed(row: Resource, failure: ResourceFailure) -> Observation:
    reason = f"{type(failure).__name__}: resources.{row.name}: {failure.message}"
    return Observation(ObservedState.FAILED, reason, job=job_key(row))


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
    resource_type: ResourceType,
    rows: Sequence[Resource],
    views: Sequence[ResourceContext],
    boundary: ErrorBoundary,
) -> Mapping[str, Observation]:
    at_rest = [view for row, view in zip(rows, views, strict=True) if row.job.verb is None]
    rest_ids = {view.resource_id for view in at_rest}
    under_way = [view for view in views if view.resource_id not in rest_ids]
    looks = {
        **(_observe(resource_type, under_way, boundary) if under_way else {}),
        **(read_at_rest(resource_type, at_rest, boundary) if at_rest else {}),
    }
    return {
        row.id: boundary.fail_resource(
            partial(_make_observation, resource_type, row, looks.get(row.id)),
            partial(_failed, row),
            ErrorSubject(row.stack_id, row.name),
        )
        for row in rows
    }


def _observe(
    resource_type: ResourceType, views: Sequence[ResourceContext], boundary: ErrorBoundary
) -> Mapping[str, VerbResult]:
    """Observe resources of one type together or, if that fails, each alone."""

    def observe_each() -> Mapping[str, VerbResult]:
        return {view.resource_id: _observe_one(resource_type, view, boundary) for view in views}

    def observe_many() -> Mapping[str, VerbResult]:
        try:
            return resource_type.observe_many(views)
        except Error as error:
            if error.retry is not Retry.NEVER:
                return {view.resource_id: VerbResult.undecided(error) for view in views}
            return observe_each()

    # RULE 11: third-party code may raise anything; the other resources are observed.
    return boundary.run(observe_many, lambda _error, _error_id: observe_each())


def _observe_one(
    resource_type: ResourceType, view: ResourceContext, boundary: ErrorBoundary
) -> VerbResult:
    """Observe one resource, where observing all at once failed because of one of them."""

    def observe() -> VerbResult:
        try:
            return resource_type.observe(view)
        except ResourceGone:
            return VerbResult(ObservedState.ABSENT, reason="the physical resource is gone")
        except Error as error:
            if error.retry is not Retry.NEVER:
                return VerbResult.undecided(error)
            return VerbResult.from_error(error)

    subject = ErrorSubject(view.stack_id, view.name)
    return boundary.fail_resource(observe, VerbResult.from_error, subject)


def _make_observation(
    resource_type: ResourceType, row: Resource, look: VerbResult | None
) -> Observation:
    job = job_key(row)
    if look is None:
        return Observation(ObservedState.BUSY, recheck_after_s=REOBSERVE_AFTER_S, job=job)
    level = look.reached_level
    look = look.as_demanded(is_health_demanded(row))
    observed, reason = look.observed, redact_secrets(look.reason, row, resource_type)
    if observed is ObservedState.READY and row.desired.state is DesiredState.ABSENT:
        observed = ObservedState.BUSY  # whatever its health: it is still there
    if look.observed in (ObservedState.FAILED, ObservedState.ABSENT):
        reason = f"{look.failure_type}: resources.{row.name}: {reason or 'it is gone'}"
    return Observation(
        observed,
        reason,
        look.poll_after_s,
        look.attributes,
        look.data,
        look.retry_with_new_incarnation,
        level=level,
        job=job,
        recheck_grid_s=look.poll_grid_s,
    )
