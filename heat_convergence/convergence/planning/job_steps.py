"""The steps of a job, with everything that the service needs to know of each.

A step is one call to a resource type, or none.  ``step_selection`` chooses it; engine and
previews read its traits here and keep no tables of their own, apart from the engine's
table of the calls themselves.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from enum import Enum, StrEnum

from heat_convergence.convergence.model.action import Action, Status
from heat_convergence.convergence.model.job import DesiredState, Verb
from heat_convergence.convergence.model.resource import Resource
from heat_convergence.convergence.planning.desired_state import NESTED_STACK_KEY
from heat_convergence.template.environment.readiness import demands_health


class ChangeKind(StrEnum):
    """The five lists of a preview."""

    UNCHANGED = "unchanged"
    UPDATED = "updated"
    REPLACED = "replaced"
    ADDED = "added"
    DELETED = "deleted"


class MissingResourceEffect(Enum):
    """The effect of finding out, during a step, that the physical resource is missing."""

    DELETED = "deleted"  # the removal has reached its end
    REPLACED = "replaced"  # a new incarnation takes its place
    OBSERVED_ABSENT = "observed absent"  # a failure, or a replacement if it was inherited
    FAILED = "failed"


@dataclass(frozen=True, slots=True, kw_only=True)
class StepTraits:
    """The traits of a step; none has a default, so that no step lacks one.

    Attributes:
        action: the action that a resource shows while the step is done.
        change_kind: the list of a preview that a resource with this step stands in.
        missing_effect: what follows when the physical resource is missing.
        removes: the resource is gone for the stack when the step has succeeded.
        creates: a physical resource is created, unless an earlier call has done so.
        needs_properties: the properties are resolved before the step.
        stores_properties: the physical resource has the resolved properties afterwards.
        refreshes_values: what other resources read of this one may have changed.
        only_observes: the physical resource is read, not changed.
        shows_progress: the resource shows IN_PROGRESS, with an event, during the step.
        runs_nested_stack: behind a nested stack's resource the step starts a traversal there.
        restricted_action: the restricted action of the environment that forbids the step.
    """

    action: Callable[[Resource], Action]
    change_kind: ChangeKind
    missing_effect: MissingResourceEffect
    removes: bool
    creates: bool
    needs_properties: bool
    stores_properties: bool
    refreshes_values: bool
    only_observes: bool
    shows_progress: bool
    runs_nested_stack: bool
    restricted_action: str | None


def has_nested_stack(row: Resource) -> bool:
    """Return whether the resource's type has a nested stack."""
    return NESTED_STACK_KEY in row.desired.definition


def is_health_demanded(row: Resource) -> bool:
    """Return whether the job of the resource is done only when the resource is healthy."""
    return (
        row.job.verb in (Verb.CONVERGE, Verb.ADOPT)
        and row.desired.state is DesiredState.PRESENT
        and not row.resuming
        and demands_health(row.desired.hooks_and_restrictions)
    )


def _always(action: Action) -> Callable[[Resource], Action]:
    def action_of(row: Resource) -> Action:
        return action

    return action_of


def _current_action(row: Resource) -> Action:
    return row.state.action


def _verb_action(row: Resource) -> Action:
    return row.state.action if row.job.verb is None else Action(row.job.verb.value)


def _adopt_action(row: Resource) -> Action:
    return Action.DELETE if row.desired.state is DesiredState.ABSENT else Action.ADOPT


def _observe_action(row: Resource) -> Action:
    return Action.CREATE if _being_created(row) else Action.UPDATE


def _update_action(row: Resource) -> Action:
    """Return CREATE while a nested stack is still being created, otherwise UPDATE."""
    creating = has_nested_stack(row) and row.state.status is Status.IN_PROGRESS
    return Action.CREATE if creating and row.state.action is Action.CREATE else Action.UPDATE


def _being_created(row: Resource) -> bool:
    return row.state.action is Action.CREATE and row.state.status is not Status.COMPLETE


_NO_CALL = StepTraits(
    action=_current_action,
    change_kind=ChangeKind.UNCHANGED,
    missing_effect=MissingResourceEffect.FAILED,
    removes=False,
    creates=False,
    needs_properties=True,
    stores_properties=False,
    refreshes_values=False,
    only_observes=False,
    shows_progress=False,
    runs_nested_stack=False,
    restricted_action=None,
)
_REPLACEMENT = replace(_NO_CALL, change_kind=ChangeKind.REPLACED, restricted_action="replace")
_CALL = replace(_NO_CALL, shows_progress=True)
_REJECTION = replace(_CALL, action=_always(Action.UPDATE), change_kind=ChangeKind.UPDATED)
_CREATION = replace(
    _CALL,
    action=_always(Action.CREATE),
    change_kind=ChangeKind.ADDED,
    creates=True,
    stores_properties=True,
    refreshes_values=True,
    runs_nested_stack=True,
)
_ADOPTION = replace(_CREATION, action=_adopt_action, creates=False)
_UPDATE = replace(
    _CALL,
    action=_update_action,
    change_kind=ChangeKind.UPDATED,
    missing_effect=MissingResourceEffect.REPLACED,
    stores_properties=True,
    refreshes_values=True,
    runs_nested_stack=True,
    restricted_action="update",
)
_OBSERVATION = replace(
    _CALL,
    action=_observe_action,
    missing_effect=MissingResourceEffect.OBSERVED_ABSENT,
    needs_properties=False,
    refreshes_values=True,
    only_observes=True,
)
_EXTERNAL = replace(
    _OBSERVATION,
    action=_always(Action.CHECK),
    missing_effect=MissingResourceEffect.FAILED,
)
_VERB = replace(_CALL, action=_verb_action, needs_properties=False, runs_nested_stack=True)
_RESUMPTION = replace(
    _CALL,
    action=_always(Action.RESUME),
    change_kind=ChangeKind.UPDATED,  # the update follows
    missing_effect=MissingResourceEffect.REPLACED,
    needs_properties=False,
)
_REMOVAL = replace(
    _CALL,
    action=_always(Action.DELETE),
    change_kind=ChangeKind.DELETED,
    missing_effect=MissingResourceEffect.DELETED,
    removes=True,
    needs_properties=False,
)
_NESTED_REMOVAL = replace(_REMOVAL, runs_nested_stack=True)


class JobStep(StrEnum):
    """One call to the resource's type, or none; with its traits."""

    traits: StepTraits

    def __new__(cls, value: str, traits: StepTraits) -> JobStep:
        """Make a member of a value and its traits."""
        member = str.__new__(cls, value)
        member._value_ = value
        member.traits = traits
        return member

    NO_OP = "nothing", _NO_CALL  # the physical resource has these properties already
    CREATE = "create", _CREATION
    FIND_OR_CREATE = "find or create", _CREATION  # an earlier create may have happened
    UPDATE = "update", _UPDATE
    REPLACE = "replace", _REPLACEMENT
    REJECT = "reject", _REJECTION  # an immutable property changed
    OBSERVE = "observe", _OBSERVATION  # the work is under way
    DELETE = "delete", _NESTED_REMOVAL
    SNAPSHOT_AND_DELETE = "snapshot and delete", _REMOVAL  # as the deletion policy asks
    FIND_AND_DELETE = "find and delete", _REMOVAL  # a create of unknown outcome
    ABANDON_PHYSICAL = "abandon physical", _NESTED_REMOVAL  # no call; the resource stays
    RESUME_FIRST = "resume first", _RESUMPTION  # resume what was suspended, then the rest
    VERB = "verb", _VERB  # suspend, resume, check, snapshot
    ADOPT = "adopt", _ADOPTION  # it exists already and is observed before it is managed
    EXTERNAL = "external", _EXTERNAL  # it exists, is not managed and only observed
