"""The choice of a job's step, from the resource's row alone.

The same code creates, updates, replaces and deletes.  Called by ``engine`` when it
has claimed a row and resolved its properties, and by previews.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from heat_convergence.convergence.model.action import Action, Status
from heat_convergence.convergence.model.job import DesiredState, Verb
from heat_convergence.convergence.model.resource import Resource
from heat_convergence.convergence.planning.incarnations import (
    awaits_adoption,
    is_replaced_when_failed,
)
from heat_convergence.convergence.planning.job_steps import JobStep, has_nested_stack


@dataclass(frozen=True, slots=True)
class PropertyChange:
    """Changed properties, and what the schema of the type says of them."""

    changed_names: frozenset[str]
    updatable_in_place: Callable[[str], bool]
    immutable: Callable[[str], bool]
    requires_replacement: Callable[[frozenset[str]], bool]


def select_removal_step(row: Resource) -> JobStep:
    """Select the step for a resource that the goal does not have."""
    if row.desired.definition.get("deletion_policy") == "Retain" or external_id(row) is not None:
        return JobStep.ABANDON_PHYSICAL
    if row.physical.awaits_stack_adoption:
        return JobStep.ADOPT  # the rows of its nested stack say what there is to delete
    if row.physical.id is not None:
        saved = row.desired.definition.get(
            "deletion_policy"
        ) == "Snapshot" and not has_nested_stack(row)
        return JobStep.SNAPSHOT_AND_DELETE if saved else JobStep.DELETE
    # RULE 4: the outcome of an interrupted create is looked up, not assumed.
    return JobStep.ABANDON_PHYSICAL if row.state.action is Action.INIT else JobStep.FIND_AND_DELETE


def external_id(row: Resource) -> str | None:
    """Return the physical id of a resource that the stack does not manage."""
    found: str | None = row.desired.definition.get("external_id")
    return found


def select_step_before_properties(row: Resource) -> JobStep | None:
    """Select the step if it does not depend on properties; return None if it does."""
    if row.desired.state is DesiredState.ABSENT:
        return select_removal_step(row)
    if row.job.verb in (Verb.CONVERGE, Verb.ADOPT) and external_id(row) is not None:
        return JobStep.EXTERNAL
    if row.job.verb is Verb.ADOPT or (row.job.verb is Verb.CONVERGE and awaits_adoption(row)):
        return JobStep.ADOPT
    if row.job.verb is not Verb.CONVERGE:
        return JobStep.VERB
    if row.physical.id is None:
        return JobStep.CREATE if row.state.action is Action.INIT else JobStep.FIND_OR_CREATE
    return None if has_nested_stack(row) else _step_of_existing(row)


def _step_of_existing(row: Resource) -> JobStep | None:
    if row.state.status is Status.FAILED and is_replaced_when_failed(row):
        return JobStep.REPLACE
    if row.physical.suspended:
        return JobStep.RESUME_FIRST
    if row.state.action is Action.CREATE and row.state.status is Status.IN_PROGRESS:
        return JobStep.OBSERVE
    return None


def select_update_step(row: Resource, change: PropertyChange) -> JobStep:
    """Select the step that a change of an existing resource's properties takes."""
    if not change.changed_names and has_nested_stack(row) and not _is_as_recorded(row):
        return JobStep.UPDATE  # its files or environment have changed, or it was not done
    if not change.changed_names:
        # Without a completed observation it may be missing, or not ready yet; and a verb
        # that has succeeded says nothing of what an unfinished goal left.
        certain = row.state.status is Status.COMPLETE and row.physical.applied_hash is not None
        return JobStep.NO_OP if certain else JobStep.OBSERVE
    if any(change.immutable(name) for name in change.changed_names):
        return JobStep.REJECT
    if not all(change.updatable_in_place(name) for name in change.changed_names):
        return JobStep.REPLACE
    return JobStep.REPLACE if change.requires_replacement(change.changed_names) else JobStep.UPDATE


def _is_as_recorded(row: Resource) -> bool:
    known = (
        row.physical.properties_hash is not None
        and row.physical.applied_hash == row.desired.definition_hash
    )
    if row.physical.suspended or not known:
        return False
    return row.state.status is Status.COMPLETE and row.state.action is not Action.CHECK
