"""The release of dependents that need not wait until a resource is done.

Decides which level a resource under way has reached, and marks the edges that wait for no more.
Called by ``progress`` under the stack's lock.  Must not dispatch what is released.
"""

from __future__ import annotations

from collections.abc import Sequence

from heat_convergence.convergence.lifecycle.observations import Observation, Observations
from heat_convergence.convergence.model.job import DesiredState, JobState, ObservedState, Verb
from heat_convergence.convergence.model.resource import RELEASES_EARLY, Resource
from heat_convergence.convergence.model.stack import Stack
from heat_convergence.convergence.ports.store import Transaction
from heat_convergence.template.environment.readiness import ReadinessLevel


def release_dependents(
    tx: Transaction, stack: Stack, rows: Sequence[Resource], observations: Observations
) -> list[Resource]:
    """Mark edges ready whose level resources under way have reached.

    Args:
        tx: the transaction.
        stack: the stack, locked.
        rows: the resources whose jobs are not done.
        observations: the observations of those that were observed.

    Returns:
        The resources that others may have waited for.
    """
    by_level: dict[ReadinessLevel, list[Resource]] = {}
    for row in rows:
        level = _level_reached(row, observations.get(row.id))
        if level is not None:
            by_level.setdefault(level, []).append(row)
    return [
        row
        for level, members in sorted(by_level.items())
        if tx.readiness.mark_level(stack.version, [row.id for row in members], level)
        for row in members
    ]


def _level_reached(row: Resource, observation: Observation | None) -> ReadinessLevel | None:
    """Return the level of a resource under way, None if nothing is known or waits for it.

    RULE 2: the job's call of this traversal has ended, so that its id is final and nothing of
    an earlier goal is taken for the current one.
    """
    if RELEASES_EARLY not in row.desired.hooks_and_restrictions or not _is_under_way(row):
        return None
    if observation is None:
        reached = row.observation.state is ObservedState.BUSY
        return ReadinessLevel.EXISTS if reached and row.physical.id is not None else None
    return observation.level if observation.observed is ObservedState.BUSY else None


def _is_under_way(row: Resource) -> bool:
    """Return whether the call that the job was planned for has been made."""
    return (
        row.job.state is JobState.AWAITING_OBSERVATION
        and row.job.verb in (Verb.CONVERGE, Verb.ADOPT)
        and row.desired.state is DesiredState.PRESENT
        and not row.resuming
    )
