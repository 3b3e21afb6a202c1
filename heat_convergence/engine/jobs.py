"""From a claimed row to a job: properties resolved, the step decided.

Called by ``engine`` inside the claiming transaction; reads only what the
transaction has read and does no I/O.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from heat_convergence.common.errors import Error, ResourceActionRestricted, StackValidationFailed
from heat_convergence.convergence.deciding import (
    Change,
    Step,
    action_of,
    step_before_properties,
    update_step,
)
from heat_convergence.convergence.model import Action, Input, Resource, Stack
from heat_convergence.resources import properties as props
from heat_convergence.resources.plugin import ResourceType, View
from heat_convergence.resources.registry import Registry
from heat_convergence.resources.views import RowInputs, view_of
from heat_convergence.template.definition import Definition
from heat_convergence.template.evaluate import finish
from heat_convergence.template.functions.base import NO_FUNCTIONS, Function
from heat_convergence.template.limits import DEFAULT, Limits

_WITHOUT_PROPERTIES = frozenset(
    {
        Step.DELETE,
        Step.FIND_AND_DELETE,
        Step.FORGET,
        Step.VERB,
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
    cloud: Any = None  # what the types' verbs see as ``View.cloud``
    functions: Mapping[str, Function] = field(default_factory=lambda: NO_FUNCTIONS)
    limits: Limits = DEFAULT


def make_job(row: Resource, claim: Claim) -> Job:
    """The job of a claimed row; a mistake in its values makes it a failed one."""
    step = step_before_properties(row)
    before = row.properties or {}
    try:
        kind = claim.registry.get(row.implementation)
        if step in _WITHOUT_PROPERTIES:
            if step is Step.FIND_AND_DELETE and not before:
                before = _sought(row, kind, claim)
            return _job(row, step, kind, claim, before, frozenset())
        after = _resolved(row, kind, claim)
        _refuse_restricted(row, step)
        if step is not None:
            return _job(row, step, kind, claim, after, frozenset())
        return _update(row, kind, claim, after)
    except ResourceActionRestricted as error:
        return Job(row, Step.NOTHING, row.action, None, None, before, frozenset(), error)
    except Error as error:
        action = Action.CREATE if row.physical_id is None else Action.UPDATE
        return Job(row, Step.REFUSE, action, None, None, before, frozenset(), error)


def _update(row: Resource, kind: ResourceType, claim: Claim, after: Mapping[str, Any]) -> Job:
    before = row.properties or {}
    names = props.changed(before, after)
    if row.properties_hash is None:
        # An earlier update may have happened or not: everything is set again.
        both = before.keys() | after.keys()
        names |= {name for name in both if kind.schema.update_allowed(name)}
    change = Change(
        names=names,
        in_place=kind.schema.update_allowed,
        immutable=kind.schema.immutable,
        needs_new=lambda changed: kind.replaces_on(before, after, changed),
    )
    step = update_step(row, change)
    _refuse_restricted(row, step)
    return _job(row, step, kind, claim, after, names)


def _refuse_restricted(row: Resource, step: Step | None) -> None:
    for action, restricted in (("update", Step.UPDATE), ("replace", Step.REPLACE)):
        if step is restricted and action in row.guards:
            raise ResourceActionRestricted(f"{action} is restricted for resource.")


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
    view = view_of(row, claim.stack, action, claim.now, given, inputs, claim.cloud)
    facade = _facade(row, claim) if kind.nested and step not in _WITHOUT_PROPERTIES else {}
    return Job(row, step, action, kind, view, after, changed, stack=claim.stack, facade=facade)


def _facade(row: Resource, claim: Claim) -> dict[str, Any]:
    definition = Definition.load(row.name, row.definition, claim.contents)
    inputs = RowInputs(claim.inputs, claim.stack, claim.registry, claim.now)
    how: dict[str, Any] = {"limits": claim.limits, "functions": claim.functions}
    return {
        "metadata": finish(definition.metadata, inputs, **how),
        "deletion_policy": definition.deletion_policy,
        "update_policy": finish(definition.update_policy, inputs, **how),
    }


def _sought(row: Resource, kind: ResourceType, claim: Claim) -> Mapping[str, Any]:
    """What a create that was never recorded was given, to find by; nothing where what
    it drew on is gone, so that it can't be told."""
    try:
        return _resolved(row, kind, claim)
    except Error:
        return {}


def _resolved(row: Resource, kind: ResourceType, claim: Claim) -> dict[str, Any]:
    definition = Definition.load(row.name, row.definition, claim.contents)
    inputs = RowInputs(claim.inputs, claim.stack, claim.registry, claim.now)
    raw = finish(
        definition.properties, inputs, limits=claim.limits, functions=claim.functions
    )
    path = f"resources.{row.name}.properties"
    if raw is not None and not isinstance(raw, Mapping):
        raise StackValidationFailed(f"a map is needed, not {raw!r:.80}", path=path)
    return props.resolve(kind.schema, raw or {}, path=path)
