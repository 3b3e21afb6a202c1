"""What a job has to do with its resource: found out from the row alone.

The same code creates, updates, replaces and deletes.  Called by ``engine`` when
it has claimed a row and resolved its properties.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum

from heat_convergence.convergence.incarnations import handed_over, replaced_when_failed
from heat_convergence.convergence.model import Action, Desired, Resource, Status, Verb
from heat_convergence.convergence.wanted import NESTED


class Step(StrEnum):
    """One call to the resource's type, or none."""

    NOTHING = "nothing"  # reality has these properties already
    CREATE = "create"
    FIND_OR_CREATE = "find or create"  # an earlier create may have happened
    UPDATE = "update"
    REPLACE = "replace"
    REFUSE = "refuse"  # an immutable property changed
    OBSERVE = "observe"  # the work is under way; look how far it is
    DELETE = "delete"
    SAVE_AND_DELETE = "save and delete"  # a copy first, as its deletion policy asks
    FIND_AND_DELETE = "find and delete"
    FORGET = "forget"  # gone for us without a call
    WAKE = "wake"  # resume what an earlier goal's verb has stopped, then the rest
    VERB = "verb"  # suspend, resume, check, snapshot
    ADOPT = "adopt"  # it exists already: look at it, and it is ours
    EXTERNAL = "external"  # it exists and stays another's: only looked at


REMOVING = frozenset(
    {Step.DELETE, Step.SAVE_AND_DELETE, Step.FIND_AND_DELETE, Step.FORGET}
)


@dataclass(frozen=True, slots=True)
class Change:
    """What of the type's schema a decision needs to know of changed properties."""

    names: frozenset[str]
    in_place: Callable[[str], bool]
    immutable: Callable[[str], bool]
    needs_new: Callable[[frozenset[str]], bool]


def removal_step(row: Resource) -> Step:
    """For a resource that is not wanted any more."""
    if row.definition.get("deletion_policy") == "Retain" or external_id(row) is not None:
        return Step.FORGET
    if row.unadopted:
        return Step.ADOPT  # what is deleted is told by the rows of the stack behind it
    if row.physical_id is not None:
        kept = row.definition.get("deletion_policy") == "Snapshot" and not behind(row)
        return Step.SAVE_AND_DELETE if kept else Step.DELETE
    # RULE 4: a create of unknown outcome is looked up, not believed.
    return Step.FORGET if row.action is Action.INIT else Step.FIND_AND_DELETE


def behind(row: Resource) -> bool:
    """Whether a nested stack is behind the resource."""
    return NESTED in row.definition


def external_id(row: Resource) -> str | None:
    """The physical id of a resource that the template does not manage."""
    found: str | None = row.definition.get("external_id")
    return found


def step_before_properties(row: Resource) -> Step | None:
    """The step where it does not depend on properties; None where it does."""
    if row.desired is Desired.ABSENT:
        return removal_step(row)
    if row.job in (Verb.CONVERGE, Verb.ADOPT) and external_id(row) is not None:
        return Step.EXTERNAL
    if row.job is Verb.ADOPT or (row.job is Verb.CONVERGE and handed_over(row)):
        return Step.ADOPT
    if row.job is not Verb.CONVERGE:
        return Step.VERB
    if row.physical_id is None:
        return Step.CREATE if row.action is Action.INIT else Step.FIND_OR_CREATE
    return None if behind(row) else _step_of_existing(row)


def _step_of_existing(row: Resource) -> Step | None:
    if row.status is Status.FAILED and replaced_when_failed(row):
        return Step.REPLACE
    if row.paused:
        return Step.WAKE
    if row.action is Action.CREATE and row.status is Status.IN_PROGRESS:
        return Step.OBSERVE
    return None


def update_step(row: Resource, change: Change) -> Step:
    """For a resource that exists: what the change of its properties takes."""
    if not change.names and behind(row) and not _stands(row):
        return Step.UPDATE  # files or environment have changed, or it was not done
    if not change.names:
        # What was not seen in its place at last may not be there, or not be up yet; and
        # another verb that went well says nothing of what an unfinished goal left.
        seen = row.status is Status.COMPLETE and row.applied_hash is not None
        return Step.NOTHING if seen else Step.OBSERVE
    if any(change.immutable(name) for name in change.names):
        return Step.REFUSE
    if not all(change.in_place(name) for name in change.names):
        return Step.REPLACE
    return Step.REPLACE if change.needs_new(change.names) else Step.UPDATE


def _stands(row: Resource) -> bool:
    known = row.properties_hash is not None and row.applied_hash == row.definition_hash
    if row.paused or not known:
        return False
    return row.status is Status.COMPLETE and row.action is not Action.CHECK


_ALWAYS = {
    Step.CREATE: Action.CREATE,
    Step.FIND_OR_CREATE: Action.CREATE,
    Step.EXTERNAL: Action.CHECK,
    Step.WAKE: Action.RESUME,
}


def action_of(step: Step, row: Resource) -> Action:
    """The action that the resource shows while the step is done."""
    if step is Step.VERB and row.job is not None:
        return Action(row.job.value)
    if step is Step.ADOPT:
        return Action.DELETE if row.desired is Desired.ABSENT else Action.ADOPT
    if step in _ALWAYS:
        return _ALWAYS[step]
    if step in REMOVING:
        return Action.DELETE
    if step is Step.OBSERVE:
        made = row.action is not Action.CREATE or row.status is Status.COMPLETE
        return Action.UPDATE if made else Action.CREATE
    if step is Step.UPDATE and behind(row) and _being_made(row):
        return Action.CREATE  # another step of it, or a new goal before it was there
    return Action.UPDATE if step in (Step.UPDATE, Step.REFUSE) else row.action


def _being_made(row: Resource) -> bool:
    return row.action is Action.CREATE and row.status is Status.IN_PROGRESS

