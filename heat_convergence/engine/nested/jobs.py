"""Decisions about the jobs of resources with nested stacks.

Called inside the transactions of ``executor``; apart from ``held_jobs`` they read only their
arguments.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from heat_convergence.common.failures import ResourceFailure
from heat_convergence.convergence.lifecycle.quarantine import failed_deletions
from heat_convergence.convergence.model import job_transitions
from heat_convergence.convergence.model.action import Action
from heat_convergence.convergence.model.job import JobState, ObservedState, Verb
from heat_convergence.convergence.model.resource import ADOPTED_STACK, Resource
from heat_convergence.convergence.model.stack import Stack
from heat_convergence.convergence.planning.desired_state import StateSource
from heat_convergence.convergence.planning.job_steps import JobStep
from heat_convergence.convergence.ports.store import Transaction
from heat_convergence.engine.execution import Outcome
from heat_convergence.engine.jobs import Job
from heat_convergence.resources.nested.nested_type import NestedType
from heat_convergence.resources.protocol.verb_values import VerbResult

NESTED_STACK_NEVER_CREATED = "the nested stack was never made"
_GOAL_ACTIONS = frozenset({Action.CREATE, Action.ADOPT, Action.UPDATE})
_VERB_ACTIONS = frozenset({Action.CHECK, Action.RESUME})


def is_nested_stack_job(job: Job) -> bool:
    """Return whether the nested executor does the job."""
    nested = (
        job.error is None and isinstance(job.resource_type, NestedType) and job.stack is not None
    )
    return nested and job.step.traits.runs_nested_stack


def deletion_values(job: Job) -> Mapping[str, Any]:
    """Return the columns of a nested stack that is deleted with its parent's resource."""
    if job.action is not Action.DELETE or job.stack is None:
        return {}
    return {"quarantines": failed_deletions.is_requested(job.stack)}


def reaches_goal(nested: Stack) -> bool:
    """Return whether a nested stack has reached its goal or is about to."""
    if nested.action in _GOAL_ACTIONS:
        return True
    return nested.action in _VERB_ACTIONS and nested.goal_reached


def owns_stack(row: Resource, nested: Stack) -> bool:
    """Return whether the stack is the nested stack of the row."""
    return nested.owner_resource_id == row.id


def adopted_document(row: Resource) -> Mapping[str, Any]:
    """Return the document of the nested stack that is to be adopted.

    Raises:
        ResourceFailure: there is none.
    """
    document = row.physical.data.get(ADOPTED_STACK)
    if not isinstance(document, Mapping):
        raise ResourceFailure("adopt_stack_data has no document of the nested stack")
    return document


def nested_state_source(job: Job) -> StateSource:
    """Return OBSERVED for the nested stack of a resource that is to be observed.

    The row says so, so that a worker that takes the job over knows it, too.
    """
    observing = job.action is Action.UPDATE and job.row.physical.applied_hash is None
    return StateSource.OBSERVED if observing else StateSource.RECORDED


def missing_stack_outcome(job: Job) -> Outcome:
    """Return the outcome of a job whose nested stack does not exist."""
    if job.action is Action.DELETE:
        return Outcome(job, result=VerbResult(ObservedState.ABSENT))
    if job.step is JobStep.UPDATE:
        return Outcome(job, needs_replacement=True)
    created = job.row.physical.id is not None
    if job.row.job.verb is Verb.SNAPSHOT and not created:  # as any other resource that is missing
        return Outcome(job, result=VerbResult(ObservedState.READY))
    reason = "the nested stack is gone" if created else NESTED_STACK_NEVER_CREATED
    return Outcome(job, result=VerbResult(ObservedState.FAILED, reason=reason))


def held_jobs(tx: Transaction, jobs: Sequence[Job], token: str) -> list[Job]:
    """Return the jobs that are still the worker's and of the current version.

    RULE 3 and 6: otherwise the lease of a job is ended.  If the tree of the stack was detached
    meanwhile, nothing may be created from what was read before: a sweep posts the job
    again.
    """
    by_id = {job.row.id: job for job in jobs}
    leased = [row for row in tx.resources.lock(by_id) if row.lease.token == token]
    held = [by_id[row.id] for row in leased if _is_current(row, by_id[row.id])]
    outdated = {row.id for row in leased} - {job.row.id for job in held}
    if outdated:
        tx.jobs.apply(sorted(outdated), job_transitions.drop_lease())
    return held


def _is_current(row: Resource, job: Job) -> bool:
    same = (
        row.job.version == job.row.job.version and row.identity.root_id == job.row.identity.root_id
    )
    return same and row.job.state is JobState.RUNNING
