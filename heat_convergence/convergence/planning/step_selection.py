"""What a job has to do with its resource: found out from the row alone.

The same code creates, updates, replaces and deletes.  Called by ``engine`` when
it has claimed a row and resolved its properties.
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
    """What of the type's schema a decision needs to know of changed properties."""

    changed_names: frozenset[str]
    updatable_in_place: Callable[[str], bool]
    immutable: Callable[[str], bool]
    requires_replacement: Callable[[frozenset[str]], bool]


def select_removal_step(row: Resource) -> JobStep:
    """For a resource that is not wanted any more."""
    if row.definition.get("deletion_policy") == "Retain" or external_id(row) is not None:
        return JobStep.ABANDON_PHYSICAL
    if row.awaits_stack_adoption:
        return JobStep.ADOPT  # what is deleted is told by the rows of the stack behind it
    if row.physical_id is not None:
        kept = row.definition.get("deletion_policy") == "Snapshot" and not has_nested_stack(row)
        return JobStep.SNAPSHOT_AND_DELETE if kept else JobStep.DELETE
    # RULE 4: a create of unknown outcome is looked up, not believed.
    return JobStep.ABANDON_PHYSICAL if row.action is Action.INIT else JobStep.FIND_AND_DELETE


def external_id(row: Resource) -> str | None:
    """The physical id of a resource that the template does not manage."""
    found: str | None = row.definition.get("external_id")
    return found


def select_step_before_properties(row: Resource) -> JobStep | None:
    """The step where it does not depend on properties; None where it does."""
    if row.desired is DesiredState.ABSENT:
        return select_removal_step(row)
    if row.job in (Verb.CONVERGE, Verb.ADOPT) and external_id(row) is not None:
        return JobStep.EXTERNAL
    if row.job is Verb.ADOPT or (row.job is Verb.CONVERGE and awaits_adoption(row)):
        return JobStep.ADOPT
    if row.job is not Verb.CONVERGE:
        return JobStep.VERB
    if row.physical_id is None:
        return JobStep.CREATE if row.action is Action.INIT else JobStep.FIND_OR_CREATE
    return None if has_nested_stack(row) else _step_of_existing(row)


def _step_of_existing(row: Resource) -> JobStep | None:
    if row.status is Status.FAILED and is_replaced_when_failed(row):
        return JobStep.REPLACE
    if row.suspended:
        return JobStep.RESUME_FIRST
    if row.action is Action.CREATE and row.status is Status.IN_PROGRESS:
        return JobStep.OBSERVE
    return None


def select_update_step(row: Resource, change: PropertyChange) -> JobStep:
    """For a resource that exists: what the change of its properties takes."""
    if not change.changed_names and has_nested_stack(row) and not _stands(row):
        return JobStep.UPDATE  # files or environment have changed, or it was not done
    if not change.changed_names:
        # What was not seen in its place at last may not be there, or not be up yet; and
        # another verb that went well says nothing of what an unfinished goal left.
        seen = row.status is Status.COMPLETE and row.applied_hash is not None
        return JobStep.NO_OP if seen else JobStep.OBSERVE
    if any(change.immutable(name) for name in change.changed_names):
        return JobStep.REJECT
    if not all(change.updatable_in_place(name) for name in change.changed_names):
        return JobStep.REPLACE
    return JobStep.REPLACE if change.requires_replacement(change.changed_names) else JobStep.UPDATE


def _stands(row: Resource) -> bool:
    known = row.properties_hash is not None and row.applied_hash == row.definition_hash
    if row.suspended or not known:
        return False
    return row.status is Status.COMPLETE and row.action is not Action.CHECK
