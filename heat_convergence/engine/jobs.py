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
from heat_convergence.convergence.model.action import Action
from heat_convergence.convergence.model.job import DesiredState, Verb
from heat_convergence.convergence.model.resource import InputResource, Resource
from heat_convergence.convergence.model.stack import Stack
from heat_convergence.convergence.planning.incarnations import REPLACE_FORBIDDEN
from heat_convergence.convergence.planning.job_steps import JobStep
from heat_convergence.convergence.planning.step_selection import (
    PropertyChange,
    select_step_before_properties,
    select_update_step,
)
from heat_convergence.resources.nested.nested_type import ATTRIBUTE_ERRORS_KEY
from heat_convergence.resources.protocol import properties as props
from heat_convergence.resources.protocol.resource_context import (
    RowInputs,
    VerbInputs,
    build_context,
    with_name_limit,
)
from heat_convergence.resources.protocol.resource_type import ResourceContext, ResourceType
from heat_convergence.resources.registry import ResourceTypeRegistry
from heat_convergence.template.evaluation.evaluation import resolve_value
from heat_convergence.template.evaluation.resource_definition import (
    ADOPTED_PROPERTIES,
    DELETE,
    load_section,
)
from heat_convergence.template.expression import load_deduplicated
from heat_convergence.template.functions.function import NO_FUNCTIONS, Function
from heat_convergence.template.limits import DEFAULT_LIMITS, TemplateLimits
from heat_convergence.template.text_redaction import redact, sensitive_texts


@dataclass(frozen=True, slots=True)
class Job:
    """One thing to do for one row; ``error`` when it can't even begin.  ``facade`` is
    what the stack behind the resource may ask about it."""

    row: Resource
    step: JobStep
    action: Action
    resource_type: ResourceType | None
    context: ResourceContext | None
    desired_properties: Mapping[str, Any]
    changed_properties: frozenset[str]
    error: Error | None = None
    stack: Stack | None = None
    facade: Mapping[str, Any] = field(default_factory=dict)
    has_next_step: bool = False  # another step follows when this one went well
    unverified: bool = False  # what is there may have other properties than ``after``

    @property
    def begun_in_earlier_traversal(self) -> bool:
        """True if an earlier traversal had started an action of the resource."""
        started_at = self.row.action_started_at
        stack_at = None if self.stack is None else self.stack.started_at
        return started_at is not None and stack_at is not None and started_at < stack_at

    @property
    def has_unknown_state(self) -> bool:
        """True if it existed and is observed because its state is not known.

        Nothing that this traversal did can be the cause of a failure.
        """
        observes = self.step is JobStep.OBSERVE and self.action is Action.UPDATE
        return observes and self.row.applied_hash is None


@dataclass(frozen=True, slots=True)
class ClaimContext:
    """What the jobs of one message have in common."""

    stack: Stack
    inputs: Mapping[str, InputResource]
    registry: ResourceTypeRegistry
    now: datetime
    contents: Mapping[str, str] = field(default_factory=dict)  # of the rows' definitions
    parsed_contents: dict[str, Any] = field(
        default_factory=dict
    )  # what they are, by the same hashes
    cloud: Any = None  # what the types' verbs see as ``View.cloud``
    functions: Mapping[str, Function] = field(default_factory=lambda: NO_FUNCTIONS)
    limits: TemplateLimits = DEFAULT_LIMITS
    predecessors: Mapping[str, Sequence[Resource]] = field(default_factory=dict)  # row's id →


def create_job(row: Resource, claim: ClaimContext) -> Job:
    """The job of a claimed row; a mistake in its values makes it a failed one."""
    step = select_step_before_properties(row)
    before = row.properties or {}
    try:
        if (
            REPLACE_FORBIDDEN in row.hooks_and_restrictions
            and row.job is Verb.CONVERGE
            and row.desired is DesiredState.PRESENT
        ):
            raise _restricted("replace")
        kind = claim.registry.get(row.implementation)
        if step is not None and not _takes_properties(step, row):
            if step is JobStep.FIND_AND_DELETE and not before:
                before = _sought(row, kind, claim)
            return _job(row, step, kind, claim, before, frozenset())
        adopting = step is JobStep.ADOPT and ADOPTED_PROPERTIES in row.definition
        after = _resolved(row, kind, claim, ADOPTED_PROPERTIES if adopting else "properties")
        if step is JobStep.ADOPT and not kind.has_nested_stack and _draws_on_new(row, claim):
            step = JobStep.REPLACE
        _refuse_restricted(row, step)
        if step is not None:
            job = _job(row, step, kind, claim, after, frozenset())
            unverified = (
                step is JobStep.ADOPT
                and not kind.has_nested_stack
                and _draws_on_changed(row, claim)
            )
            sleeps = step is JobStep.ADOPT and row.suspended and row.job is Verb.CONVERGE
            return replace(
                job, has_next_step=adopting or unverified or sleeps, unverified=unverified
            )
        return _update(row, kind, claim, after)
    except ResourceActionRestricted as error:
        return Job(row, JobStep.NO_OP, row.action, None, None, before, frozenset(), error)
    except Error as error:
        action = Action.CREATE if row.physical_id is None else Action.UPDATE
        _hide(error, row, claim)
        return Job(row, JobStep.REJECT, action, None, None, before, frozenset(), error)


def _hide(error: Error, row: Resource, claim: ClaimContext) -> None:
    """Takes out of the message what was given where secrets are: which of it they are, can't
    be told any more."""
    if row.sensitive:
        drawn = [claim.inputs[name] for name in row.referenced_names if name in claim.inputs]
        shared = [row.definition.get(section) for section in ("properties", ADOPTED_PROPERTIES)]
        given = load_deduplicated(shared, lambda key: claim.contents.get(key, ""))
        read = [(_values(each), each.properties, each.data) for each in drawn]
        error.message = redact(error.message, sensitive_texts([given, read]))
        error.args = (error.message,)


def _values(drawn: InputResource) -> list[Any]:
    """Why some of its attributes have no value is told as it is."""
    return [value for name, value in drawn.attributes.items() if name != ATTRIBUTE_ERRORS_KEY]


def _takes_properties(step: JobStep | None, row: Resource) -> bool:
    """What is deleted takes none: what they read may be gone, or unknown yet."""
    if row.desired is not DesiredState.PRESENT:
        return False
    return step is None or step.traits.needs_properties


def _draws_on_new(row: Resource, claim: ClaimContext) -> bool:
    """Of what it was handed over with, something was not there and has been made: it is
    not as its definition says, and nobody knows how it is."""
    return Action.CREATE in _drawn_actions(row, claim)


def _draws_on_changed(row: Resource, claim: ClaimContext) -> bool:
    """Of what it was handed over with, something has been changed since: it is as its
    definition says, but for values that nobody knows any more."""
    return row.job is Verb.CONVERGE and not _drawn_actions(row, claim) <= {Action.ADOPT}


def _drawn_actions(row: Resource, claim: ClaimContext) -> set[Action]:
    drawn = (claim.inputs.get(name) for name in row.referenced_names)
    return {found.action for found in drawn if found is not None}


def _update(
    row: Resource, resource_type: ResourceType, claim: ClaimContext, after: Mapping[str, Any]
) -> Job:
    before = row.properties or {}
    names = other = props.changed_property_names(before, after)
    if row.properties_hash is None:
        # An earlier update may have happened or not: everything is set again.
        both = before.keys() | after.keys()
        names |= {name for name in both if resource_type.schema.update_allowed(name)}
    change = PropertyChange(
        changed_names=names,
        updatable_in_place=resource_type.schema.update_allowed,
        immutable=resource_type.schema.immutable,
        # What is merely set again takes no new incarnation.
        requires_replacement=lambda _changed: resource_type.needs_replace(before, after, other),
    )
    step = select_update_step(row, change)
    _refuse_restricted(row, step)
    return _job(row, step, resource_type, claim, after, names)


def _refuse_restricted(row: Resource, step: JobStep | None) -> None:
    action = None if step is None else step.traits.restricted_action
    if action is not None and action in row.hooks_and_restrictions:
        raise _restricted(action)


def _restricted(action: str) -> ResourceActionRestricted:
    return ResourceActionRestricted(f"{action} is restricted for resource.")


def _job(
    row: Resource,
    step: JobStep,
    resource_type: ResourceType,
    claim: ClaimContext,
    after: Mapping[str, Any],
    changed: frozenset[str],
) -> Job:
    action = step.traits.action(row)
    creating = step.traits.creates or step is JobStep.ADOPT
    given = after if creating or step is JobStep.FIND_AND_DELETE else None
    making = _takes_properties(step, row)
    metadata = _finished("metadata", row, claim) if making else {}
    inputs = VerbInputs(
        properties=given,
        dependencies=claim.inputs if resource_type.observes_dependencies else {},
        cloud=claim.cloud,
        metadata=metadata,
    )
    view = build_context(row, claim.stack, action, claim.now, inputs)
    view = with_name_limit(view, resource_type.physical_name_limit)
    rivals = [str(other.physical_id) for other in claim.predecessors.get(row.id, ())]
    if rivals:
        view = replace(view, predecessors=tuple(rivals))
    facade = _facade(row, claim, metadata) if resource_type.has_nested_stack and making else {}
    return Job(
        row, step, action, resource_type, view, after, changed, stack=claim.stack, facade=facade
    )


def _facade(row: Resource, claim: ClaimContext, metadata: Any) -> dict[str, Any]:
    return {
        "metadata": metadata,
        "deletion_policy": row.definition.get("deletion_policy", DELETE),
        "update_policy": _finished("update_policy", row, claim),
    }


def _sought(row: Resource, resource_type: ResourceType, claim: ClaimContext) -> Mapping[str, Any]:
    """What a create that was never recorded was given, to find by; nothing where what
    it drew on is gone, so that it can't be told."""
    try:
        return _resolved(row, resource_type, claim)
    except Error:
        return {}


def _resolved(
    row: Resource, resource_type: ResourceType, claim: ClaimContext, section: str = "properties"
) -> dict[str, Any]:
    raw = _finished(section, row, claim)
    return props.resolve_properties(
        resource_type.schema, raw, path=f"resources.{row.name}.properties"
    )


def _finished(section: str, row: Resource, claim: ClaimContext) -> dict[str, Any]:
    """A map of the row's definition with what it reads of other resources."""
    if not row.definition.get(section):
        return {}
    value = load_section(row.definition, section, claim.contents, claim.parsed_contents)
    inputs = RowInputs(claim.inputs, claim.stack, claim.registry, claim.now)
    found = resolve_value(value, inputs, limits=claim.limits, functions=claim.functions)
    if found is not None and not isinstance(found, dict):
        path = f"resources.{row.name}.{section}"
        raise StackValidationFailed(f"a map is needed, not {found!r:.80}", path=path)
    return found or {}
