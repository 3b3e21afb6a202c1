"""The creation of jobs from rows: resolved properties and a selected step.

Called by ``engine`` outside of any transaction, before the rows are claimed: it evaluates
users' expressions.  Reads only what was read for it; must not do any I/O.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import partial
from typing import Any

from heat_convergence.common.errors import (
    Error,
    NotSupported,
    ResourceActionRestricted,
    StackValidationFailed,
)
from heat_convergence.common.failures import CallRefused, JobTakeoversExceeded, TemplateOutputError
from heat_convergence.common.fair_executor import SlotGroups
from heat_convergence.common.stored_values import is_readable, readable_or_empty, require_readable
from heat_convergence.convergence.model.action import Action, Status
from heat_convergence.convergence.model.job import DesiredState, Verb
from heat_convergence.convergence.model.resource import InputResource, Resource
from heat_convergence.convergence.model.stack import Stack
from heat_convergence.convergence.planning.incarnations import (
    EXTERNAL_ID_CHANGED,
    REPLACE_FORBIDDEN,
)
from heat_convergence.convergence.planning.job_steps import JobStep
from heat_convergence.convergence.planning.step_selection import (
    PropertyChange,
    select_step_before_properties,
    select_update_step,
)
from heat_convergence.resources.nested.nested_type import ATTRIBUTE_ERRORS_KEY, NestedType
from heat_convergence.resources.property_changes import repeated_property_names
from heat_convergence.resources.protocol import properties as props
from heat_convergence.resources.protocol.call_groups import call_groups
from heat_convergence.resources.protocol.resource_context import (
    RowInputs,
    VerbInputs,
    build_context,
    with_name_limit,
)
from heat_convergence.resources.protocol.resource_type import ResourceType
from heat_convergence.resources.protocol.verb_values import ResourceContext
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
    """A job: one step for one row.

    Attributes:
        desired_properties: the resolved properties.
        error: why the job cannot start.
        facade: what the templates of the nested stack may read of the resource.
        call_groups: the groups that share the places for the job's call.
        has_next_step: another step follows when this one has succeeded.
        unverified: the physical resource may have other properties.
    """

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
    call_groups: SlotGroups = ()
    has_next_step: bool = False  # another step follows when this one went well
    unverified: bool = False  # what is there may have other properties than ``after``

    @property
    def is_local(self) -> bool:
        """True if the job does no I/O."""
        return self.resource_type is None or self.resource_type.local

    @property
    def ends_with_claim(self) -> bool:
        """True if nothing outside of the database is called, so that it may end when claimed.

        Nested stacks have rows of their own; rejected jobs, and those that another worker has
        left, are recorded after their claims.
        """
        resource_type = self.resource_type
        if resource_type is None or self.error is not None or self.context is None:
            return False
        is_new = self.row.lease.token is None
        return is_new and resource_type.local and not isinstance(resource_type, NestedType)

    def with_call_groups(self) -> Job:
        """Return the job with the groups of its call."""
        if self.is_local or self.resource_type is None or self.context is None:
            return self
        return replace(self, call_groups=call_groups(self.resource_type, self.context))

    @property
    def started_in_earlier_traversal(self) -> bool:
        """True if an earlier traversal had started an action of the resource."""
        started_at = self.row.state.started_at
        stack_at = None if self.stack is None else self.stack.started_at
        return started_at is not None and stack_at is not None and started_at < stack_at

    @property
    def has_unknown_state(self) -> bool:
        """True if it existed and is observed because its state is not known.

        Nothing that this traversal did can be the cause of a failure.
        """
        observes = self.step is JobStep.OBSERVE and self.action is Action.UPDATE
        return observes and self.row.physical.applied_hash is None


@dataclass(frozen=True, slots=True)
class ClaimContext:
    """The context that the jobs of one message share."""

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


def create_job(row: Resource, claim: ClaimContext) -> Job:
    """Create the job of a row; an error in its values makes it a failed one."""
    step = select_step_before_properties(row)
    before = readable_or_empty(row.physical.properties)
    try:
        refusal = _refusal(row)
        if refusal is not None:
            action = row.state.action
            return Job(row, JobStep.NO_OP, action, None, None, before, frozenset(), refusal)
        resource_type = claim.registry.get_for_job(row.desired.implementation)
        if step is not None and not _takes_properties(step, row):
            if step is JobStep.FIND_AND_DELETE and not before:
                before = _sought(row, resource_type, claim)
            return _job(row, step, resource_type, claim, before, frozenset())
        adopting = step is JobStep.ADOPT and ADOPTED_PROPERTIES in row.desired.definition
        after = _resolved(
            row, resource_type, claim, ADOPTED_PROPERTIES if adopting else "properties"
        )
        if (
            step is JobStep.ADOPT
            and not resource_type.has_nested_stack
            and _draws_on_new(row, claim)
        ):
            step = JobStep.REPLACE
        _refuse_restricted(row, step)
        if step is not None:
            job = _job(row, step, resource_type, claim, after, frozenset())
            unverified = (
                step is JobStep.ADOPT
                and not resource_type.has_nested_stack
                and _draws_on_changed(row, claim)
            )
            sleeps = (
                step is JobStep.ADOPT and row.physical.suspended and row.job.verb is Verb.CONVERGE
            )
            return replace(
                job, has_next_step=adopting or unverified or sleeps, unverified=unverified
            )
        return _update(row, resource_type, claim, after)
    except (ResourceActionRestricted, CallRefused) as error:  # nothing of the row changes
        return Job(row, JobStep.NO_OP, row.state.action, None, None, before, frozenset(), error)
    except Error as error:
        action = Action.CREATE if row.physical.id is None else Action.UPDATE
        _hide(error, row, claim)
        return Job(row, JobStep.REJECT, action, None, None, before, frozenset(), error)


def reject_poisoned_job(row: Resource, takeovers: int, limit: int) -> Job:
    """Return a failed job for a row whose workers have ended too often while they ran its job."""
    text = (
        f"{takeovers} workers ended while they ran the job of this resource"
        f" (max_job_takeovers is {limit})"
    )
    return reject_job(row, JobTakeoversExceeded(text))


def reject_job(row: Resource, error: Error) -> Job:
    """Return a job that fails with the error, whatever its row contains."""
    action = row.state.action
    if row.desired.state is DesiredState.ABSENT:
        action = Action.DELETE
    elif action is Action.INIT:
        action = Action.CREATE
    elif row.job.verb is Verb.CONVERGE and row.state.status is not Status.IN_PROGRESS:
        action = Action.CREATE if row.physical.id is None else Action.UPDATE
    before = readable_or_empty(row.physical.properties)
    return Job(row, JobStep.REJECT, action, None, None, before, frozenset(), error)


def _hide(error: Error, row: Resource, claim: ClaimContext) -> None:
    """Redact values of a sensitive resource in the message of an error.

    All of its values are redacted, as it is not known which of them are secret.
    """
    if row.desired.sensitive:
        shared = [
            row.desired.definition.get(section) for section in ("properties", ADOPTED_PROPERTIES)
        ]
        values = load_deduplicated(shared, lambda key: claim.contents.get(key, ""))
        read = [(_values(each), each.properties, each.data) for each in _drawn(row, claim)]
        place = error.place if isinstance(error, TemplateOutputError) else ""
        why = redact(error.message.removeprefix(place), sensitive_texts([values, read]))
        error.message = place + why
        error.args = (error.message,)


def _values(drawn: InputResource) -> list[Any]:
    """Return its attributes, without the reasons why some of them have no value."""
    return [value for name, value in drawn.attributes.items() if name != ATTRIBUTE_ERRORS_KEY]


def _takes_properties(step: JobStep | None, row: Resource) -> bool:
    """Return whether the step takes properties; those of a deletion may be unknown."""
    if row.desired.state is not DesiredState.PRESENT:
        return False
    return step is None or step.traits.needs_properties


def _draws_on_new(row: Resource, claim: ClaimContext) -> bool:
    """Return whether a dependency of this adopted resource had to be created.

    The resource is then not as its definition says.
    """
    return Action.CREATE in _drawn_actions(row, claim)


def _draws_on_changed(row: Resource, claim: ClaimContext) -> bool:
    """Return whether a dependency of this adopted resource was changed since.

    The resource is then as its definition says, apart from values that are unknown.
    """
    return row.job.verb is Verb.CONVERGE and not _drawn_actions(row, claim) <= {Action.ADOPT}


def _drawn_actions(row: Resource, claim: ClaimContext) -> set[Action]:
    return {each.action for each in _drawn(row, claim)}


def _drawn(row: Resource, claim: ClaimContext) -> list[InputResource]:
    """Return the resources that the definition refers to."""
    return [claim.inputs[name] for name in row.desired.referenced_names if name in claim.inputs]


def _update(
    row: Resource, resource_type: ResourceType, claim: ClaimContext, after: Mapping[str, Any]
) -> Job:
    require_readable(row.physical.properties)  # otherwise every property would be changed
    before = row.physical.properties or {}
    other = props.changed_property_names(before, after)
    metadata = partial(_finished, "metadata", row, claim)
    names = other | repeated_property_names(
        row, resource_type, after, metadata, updating=claim.stack.action is Action.UPDATE
    )
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
    if action is not None and action in row.desired.hooks_and_restrictions:
        raise _restricted(action)


def _refusal(row: Resource) -> Error | None:
    """Return why the update leaves the resource as it is, None if it does not."""
    if row.job.verb is not Verb.CONVERGE or row.desired.state is not DesiredState.PRESENT:
        return None
    restrictions, of = row.desired.hooks_and_restrictions, row.identity
    if EXTERNAL_ID_CHANGED in restrictions:
        return NotSupported(
            f"Update to property external_id of {of.name} ({of.type}) is not supported."
        )
    return _restricted("replace") if REPLACE_FORBIDDEN in restrictions else None


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
    values = after if creating or step is JobStep.FIND_AND_DELETE else None
    making = _takes_properties(step, row)
    metadata = _finished("metadata", row, claim) if making else {}
    inputs = VerbInputs(
        properties=values,
        dependencies=claim.inputs if resource_type.observes_dependencies else {},
        cloud=claim.cloud,
        metadata=metadata,
    )
    view = build_context(row, claim.stack, action, claim.now, inputs)
    view = with_name_limit(view, resource_type.physical_name_limit)
    facade = _facade(row, claim, metadata) if resource_type.has_nested_stack and making else {}
    return Job(
        row, step, action, resource_type, view, after, changed, stack=claim.stack, facade=facade
    )


def _facade(row: Resource, claim: ClaimContext, metadata: Any) -> dict[str, Any]:
    return {
        "metadata": metadata,
        "deletion_policy": row.desired.definition.get("deletion_policy", DELETE),
        "update_policy": _finished("update_policy", row, claim),
    }


def _sought(row: Resource, resource_type: ResourceType, claim: ClaimContext) -> Mapping[str, Any]:
    """Return the properties to find the result of a lost create by.

    There are none if values that they read are gone.
    """
    try:
        return _resolved(row, resource_type, claim)
    except CallRefused:
        raise  # another worker may find it
    except Error:
        return {}


def _resolved(
    row: Resource, resource_type: ResourceType, claim: ClaimContext, section: str = "properties"
) -> dict[str, Any]:
    if resource_type.schema.ignores_properties:
        return {}
    raw = _finished(section, row, claim)
    path = f"resources.{row.name}.properties"
    after, before = props.resolve_properties(resource_type.schema, raw, path), row.physical
    if before.id is None or before.properties is None or not is_readable(before.properties):
        return after
    return props.keep_properties_without_value(resource_type.schema, raw, before.properties, after)


def _finished(section: str, row: Resource, claim: ClaimContext) -> dict[str, Any]:
    """Return a section of the row's definition with the values that it reads."""
    if not row.desired.definition.get(section):
        return {}
    value = load_section(row.desired.definition, section, claim.contents, claim.parsed_contents)
    for each in _drawn(row, claim):
        claim.registry.get_for_job(each.implementation)
    inputs = RowInputs(claim.inputs, claim.stack, claim.registry, claim.now)
    found = resolve_value(value, inputs, limits=claim.limits, functions=claim.functions)
    if found is not None and not isinstance(found, dict):
        path = f"resources.{row.name}.{section}"
        raise StackValidationFailed(f"a map is needed, not {found!r:.80}", path=path)
    return found or {}
