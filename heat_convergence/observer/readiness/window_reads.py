"""Reads of resources at rest while their stack's stabilization window is open.

Called by ``polling``.  They are made as those of the watch, which change nothing anywhere.  Must
not decide what follows from them: ``convergence.lifecycle`` does.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from heat_convergence.common.error_boundary import ErrorBoundary
from heat_convergence.common.errors import Error
from heat_convergence.convergence.lifecycle.observations import Observation, job_key
from heat_convergence.convergence.lifecycle.readiness.window_reads import window_of
from heat_convergence.convergence.lifecycle.stabilization import window
from heat_convergence.convergence.model.action import Action
from heat_convergence.convergence.model.job import ObservedState
from heat_convergence.convergence.model.resource import Resource
from heat_convergence.convergence.model.stack import Stack
from heat_convergence.resources.protocol.resource_context import VerbInputs, build_context
from heat_convergence.resources.protocol.resource_type import ResourceType
from heat_convergence.resources.protocol.verb_values import (
    REOBSERVE_AFTER_S,
    ResourceContext,
    VerbResult,
)
from heat_convergence.resources.protocol.watchable import Watchable
from heat_convergence.resources.registry import MISSING_TYPE_PAUSE_S
from heat_convergence.template.environment.readiness import ReadinessLevel


def is_window_read(row: Resource, stack: Stack) -> bool:
    """Return whether the stack waits for the health of a resource whose job is done."""
    return window.is_open(stack) and window_of(row) > 0


def observe_unread(row: Resource, resource_type: ResourceType | None) -> Observation:
    """Return the observation of a resource that is not read.

    It is healthy if its type has nothing to read; another observer may have a missing type.
    """
    key = job_key(row)
    if resource_type is None:
        return Observation(ObservedState.BUSY, recheck_after_s=MISSING_TYPE_PAUSE_S, job=key)
    return Observation(
        ObservedState.READY, recheck_after_s=None, level=ReadinessLevel.HEALTHY, job=key
    )


def build_window_context(
    row: Resource, stack: Stack, now: datetime, cloud: Any
) -> ResourceContext:
    """Return the context of a read; the action is that of reads which change nothing."""
    return build_context(row, stack, Action.CHECK, now, VerbInputs(cloud=cloud))


def read_at_rest(
    resource_type: ResourceType, contexts: Sequence[ResourceContext], boundary: ErrorBoundary
) -> Mapping[str, VerbResult]:
    """Return resource id → result; nothing is known of resources that could not be read."""

    def read() -> Mapping[str, VerbResult]:
        if not isinstance(resource_type, Watchable):
            return {}
        try:
            return resource_type.read_many(contexts)
        except Error as error:
            return {context.resource_id: VerbResult.undecided(error) for context in contexts}

    busy = VerbResult(ObservedState.BUSY, poll_after_s=REOBSERVE_AFTER_S)
    # RULE 11: third-party code may raise anything; the other resources are read.
    return boundary.run(read, lambda _error, _error_id: dict.fromkeys(_ids(contexts), busy))


def _ids(contexts: Sequence[ResourceContext]) -> list[str]:
    return [context.resource_id for context in contexts]
