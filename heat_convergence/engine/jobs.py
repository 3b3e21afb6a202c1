"""From a claimed row to a job: properties resolved, the step decided.

Called by ``engine`` inside the claiming transaction; reads only what the
transaction has read and does no I/O.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

from heat_convergence.common.errors import Error, ResourceActionRestricted, StackValidationFailed
from heat_convergence.convergence.deciding import (
    REMOVING,
    Change,
    Step,
    action_of,
    step_before_properties,
    update_step,
)
from heat_convergence.convergence.incarnations import BARRED
from heat_convergence.convergence.model import Action, Desired, Input, Resource, Stack, Verb
from heat_convergence.resources import properties as props
from heat_convergence.resources.nesting.kinds import UNTOLD
from heat_convergence.resources.plugin import ResourceType, View
from heat_convergence.resources.registry import Registry
from heat_convergence.resources.views import RowInputs, named_within, view_of
from heat_convergence.template.definition import DELETE, HANDED, value_of
from heat_convergence.template.evaluate import finish
from heat_convergence.template.expression import restore
from heat_convergence.template.functions.base import NO_FUNCTIONS, Function
from heat_convergence.template.limits import DEFAULT, Limits
from heat_convergence.template.masking import masked, texts_of

_WITHOUT_PROPERTIES = frozenset(
    {
        *REMOVING,
        Step.VERB,
        Step.WAKE,
        Step.OBSERVE,
        Step.EXTERNAL,
    }
)


@dataclass(frozen=True, slots=True)
class Job:
    """One thing to do for one row; ``error`` when it can't even begin.  ``facade`` is
    what the stack behind the resource may ask about it."""

    row: Resource
    step: Step
    action: Action
    type: ResourceType | None
    view: View | None
    after: Mapping[str, Any]
    changed: frozenset[str]
    error: Error | None = None
    stack: Stack | None = None
    facade: Mapping[str, Any] = field(default_factory=dict)
    more: bool = False  # another step follows when this one went well
    guessed: bool = False  # what is there may have other properties than ``after``

    @property
    def inherited(self) -> bool:
        """Whether an earlier traversal had begun something with the row."""
        begun_at = self.row.action_started_at
        stack_at = None if self.stack is None else self.stack.begun_at
        return begun_at is not None and stack_at is not None and begun_at < stack_at


@dataclass(frozen=True, slots=True)
class Claim:
    """What the jobs of one message have in common."""

    stack: Stack
    inputs: Mapping[str, Input]
    registry: Registry
    now: datetime
    contents: Mapping[str, str] = field(default_factory=dict)  # of the rows' definitions
    made: dict[str, Any] = field(default_factory=dict)  # what they are, by the same hashes
    cloud: Any = None  # what the types' verbs see as ``View.cloud``
    functions: Mapping[str, Function] = field(default_factory=lambda: NO_FUNCTIONS)
    limits: Limits = DEFAULT
    rivals: Mapping[str, Sequence[Resource]] = field(default_factory=dict)  # row's id →


def make_job(row: Resource, claim: Claim) -> Job:
    """The job of a claimed row; a mistake in its values makes it a failed one."""
    step = step_before_properties(row)
    before = row.properties or {}
    try:
        if BARRED in row.guards and row.job is Verb.CONVERGE and row.desired is Desired.PRESENT:
            raise _restricted("replace")
        kind = claim.registry.get(row.implementation)
        if not _takes_properties(step, row):
            if step is Step.FIND_AND_DELETE and not before:
                before = _sought(row, kind, claim)
            return _job(row, step, kind, claim, before, frozenset())
        adopting = step is Step.ADOPT and HANDED in row.definition
        after = _resolved(row, kind, claim, HANDED if adopting else "properties")
        if step is Step.ADOPT and not kind.nested and _draws_on_new(row, claim):
            step = Step.REPLACE
        _refuse_restricted(row, step)
        if step is not None:
            job = _job(row, step, kind, claim, after, frozenset())
            guessed = step is Step.ADOPT and not kind.nested and _draws_on_changed(row, claim)
            sleeps = step is Step.ADOPT and row.paused and row.job is Verb.CONVERGE
            return replace(job, more=adopting or guessed or sleeps, guessed=guessed)
        return _update(row, kind, claim, after)
    except ResourceActionRestricted as error:
        return Job(row, Step.NOTHING, row.action, None, None, before, frozenset(), error)
    except Error as error:
        action = Action.CREATE if row.physical_id is None else Action.UPDATE
        _hide(error, row, claim)
        return Job(row, Step.REFUSE, action, None, None, before, frozenset(), error)


def _hide(error: Error, row: Resource, claim: Claim) -> None:
    """Takes out of the message what was given where secrets are: which of it they are, can't
    be told any more."""
    if row.sensitive:
        drawn = [claim.inputs[name] for name in row.draws_on if name in claim.inputs]
        shared = [row.definition.get(section) for section in ("properties", HANDED)]
        given = restore(shared, lambda key: claim.contents.get(key, ""))
        read = [(_values(each), each.properties, each.data) for each in drawn]
        error.message = masked(error.message, texts_of([given, read]))
        error.args = (error.message,)


def _values(drawn: Input) -> list[Any]:
    """Why some of its attributes have no value is told as it is."""
    return [value for name, value in drawn.attributes.items() if name != UNTOLD]


def _takes_properties(step: Step | None, row: Resource) -> bool:
    """What is deleted takes none: what they read may be gone, or unknown yet."""
    return step not in _WITHOUT_PROPERTIES and row.desired is Desired.PRESENT


def _draws_on_new(row: Resource, claim: Claim) -> bool:
    """Of what it was handed over with, something was not there and has been made: it is
    not as its definition says, and nobody knows how it is."""
    return Action.CREATE in _drawn_actions(row, claim)


def _draws_on_changed(row: Resource, claim: Claim) -> bool:
    """Of what it was handed over with, something has been changed since: it is as its
    definition says, but for values that nobody knows any more."""
    return row.job is Verb.CONVERGE and not _drawn_actions(row, claim) <= {Action.ADOPT}


def _drawn_actions(row: Resource, claim: Claim) -> set[Action]:
    drawn = (claim.inputs.get(name) for name in row.draws_on)
    return {found.action for found in drawn if found is not None}


def _update(row: Resource, kind: ResourceType, claim: Claim, after: Mapping[str, Any]) -> Job:
    before = row.properties or {}
    names = other = props.changed(before, after)
    if row.properties_hash is None:
        # An earlier update may have happened or not: everything is set again.
        both = before.keys() | after.keys()
        names |= {name for name in both if kind.schema.update_allowed(name)}
    change = Change(
        names=names,
        in_place=kind.schema.update_allowed,
        immutable=kind.schema.immutable,
        # What is merely set again takes no new incarnation.
        needs_new=lambda _changed: kind.replaces_on(before, after, other),
    )
    step = update_step(row, change)
    _refuse_restricted(row, step)
    return _job(row, step, kind, claim, after, names)


def _refuse_restricted(row: Resource, step: Step | None) -> None:
    for action, restricted in (("update", Step.UPDATE), ("replace", Step.REPLACE)):
        if step is restricted and action in row.guards:
            raise _restricted(action)


def _restricted(action: str) -> ResourceActionRestricted:
    return ResourceActionRestricted(f"{action} is restricted for resource.")


def _job(
    row: Resource,
    step: Step,
    kind: ResourceType,
    claim: Claim,
    after: Mapping[str, Any],
    changed: frozenset[str],
) -> Job:
    action = action_of(step, row)
    creating = step in (Step.CREATE, Step.FIND_OR_CREATE, Step.ADOPT)
    given = after if creating or step is Step.FIND_AND_DELETE else None
    inputs = claim.inputs if kind.sees_others else None
    making = _takes_properties(step, row)
    metadata = _finished("metadata", row, claim) if making else {}
    view = view_of(row, claim.stack, action, claim.now, given, inputs, claim.cloud, metadata)
    view = named_within(view, kind.physical_name_limit)
    rivals = [str(other.physical_id) for other in claim.rivals.get(row.id, ())]
    if rivals:
        view = replace(view, rivals=tuple(rivals))
    facade = _facade(row, claim, metadata) if kind.nested and making else {}
    return Job(row, step, action, kind, view, after, changed, stack=claim.stack, facade=facade)


def _facade(row: Resource, claim: Claim, metadata: Any) -> dict[str, Any]:
    return {
        "metadata": metadata,
        "deletion_policy": row.definition.get("deletion_policy", DELETE),
        "update_policy": _finished("update_policy", row, claim),
    }


def _sought(row: Resource, kind: ResourceType, claim: Claim) -> Mapping[str, Any]:
    """What a create that was never recorded was given, to find by; nothing where what
    it drew on is gone, so that it can't be told."""
    try:
        return _resolved(row, kind, claim)
    except Error:
        return {}


def _resolved(
    row: Resource, kind: ResourceType, claim: Claim, section: str = "properties"
) -> dict[str, Any]:
    raw = _finished(section, row, claim)
    return props.resolve(kind.schema, raw, path=f"resources.{row.name}.properties")


def _finished(section: str, row: Resource, claim: Claim) -> dict[str, Any]:
    """A map of the row's definition with what it reads of other resources."""
    if not row.definition.get(section):
        return {}
    value = value_of(row.definition, section, claim.contents, claim.made)
    inputs = RowInputs(claim.inputs, claim.stack, claim.registry, claim.now)
    found = finish(value, inputs, limits=claim.limits, functions=claim.functions)
    if found is not None and not isinstance(found, dict):
        path = f"resources.{row.name}.{section}"
        raise StackValidationFailed(f"a map is needed, not {found!r:.80}", path=path)
    return found or {}
