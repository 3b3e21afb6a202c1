"""The part of an update's template that has to be evaluated, where the rest stays as it is.

Called by the builder of root stacks.  Decides when an update may leave most of a large template
alone: its other inputs are those of the stack's goal, which the stack has reached, and each
resource that it leaves alone has the text that it had.  Everything else is evaluated as a whole,
and so is a template with a mistake.  Must not read rows: the traversal does, under its locks.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from heat_convergence.common.strict_json import encode_json
from heat_convergence.convergence.model.stack import Stack
from heat_convergence.convergence.planning.desired_state import StateSource
from heat_convergence.convergence.planning.goal_part import GoalPart, has_reached_goal
from heat_convergence.resources.nested.nested_type import NestedType
from heat_convergence.resources.nested.template_cache import content_hash
from heat_convergence.resources.protocol.resource_type import ResourceType
from heat_convergence.stacks.goal.content_digests import hash_json, may_repeat_properties
from heat_convergence.stacks.goal.kept_resources import UpdateBase
from heat_convergence.stacks.goal.part_selection import (
    SelectedPart,
    Snippets,
    TypeRules,
    select_part,
)
from heat_convergence.stacks.goal.validation_target import TypeForbidden
from heat_convergence.stacks.services import StackServices
from heat_convergence.stacks.source.template_source import StoredGoal, TemplateSource
from heat_convergence.template.environment.readiness import ReadinessLevel
from heat_convergence.template.environment.type_mappings import is_template_name
from heat_convergence.template.evaluation_budget import STEPS_PER_RESOURCE, EvaluationBudget
from heat_convergence.template.limits import TemplateLimits
from heat_convergence.template.parsing.document_loader import PACKED_SECTIONS, Document
from heat_convergence.template.template import Template

Json = Any
_LARGEST_SHARE = 0.5  # of the resources; a larger part takes as long as all of them
_STEPS_SHARE = 0.5  # of an evaluation's; the others are left to functions


@dataclass(frozen=True, slots=True)
class ChangedPart:
    """A part of a template.

    Attributes:
        source: the source with the resources of the part alone.
        part: what the traversal has to know of it.
    """

    source: TemplateSource
    part: GoalPart


def find_changed_part(
    services: StackServices,
    source: TemplateSource,
    stack: Stack,
    base: UpdateBase,
    is_type_forbidden: TypeForbidden,
) -> ChangedPart | None:
    """Return the part of an update's template to evaluate, None for all of it.

    Args:
        services: the services of the process.
        source: template, files and environment to update to.
        stack: the stack as the update leaves it.
        base: the state that the update starts from.
        is_type_forbidden: whether policy keeps a resource type from the caller.

    Raises:
        Error: the whole has to be evaluated, which may report the mistake.
    """
    goal, stored = base.goal, base.stored_stack
    count = len(source.template.resource_names)
    if goal is None or stored is None or count < services.options.partial_update_min_resources:
        return None
    if not _starts_from_goal(stack, stored, base) or not _has_inputs_of(source, goal):
        return None
    before, after = _earlier_template(source, goal, services), source.template
    if not _differ_in_resources_alone(before, after):
        return None
    snippets = (_snippets(before), _snippets(after))
    rules = _read_types(services, source, snippets, is_type_forbidden)
    if rules is None:
        return None
    dialect = after.version.dialect
    selected = select_part(*snippets, after.section(dialect.outputs), rules, dialect.type)
    if selected is None or len(selected.names) > _LARGEST_SHARE * count:
        return None
    _check_steps(snippets[1], services.limits)
    return _part_of(source, snippets[1], selected, rules, stored.version)


def _starts_from_goal(stack: Stack, stored: Stack, base: UpdateBase) -> bool:
    return (
        has_reached_goal(stored)
        and stored.timeout_mins == stack.timeout_mins  # some properties must fit in it
        and base.state_source is StateSource.RECORDED
    )


def _has_inputs_of(source: TemplateSource, goal: StoredGoal) -> bool:
    """Return whether environment and files are those of the goal, without single resources."""
    return (
        not source.environment.registry.has_resource_entries()
        and hash_json(source.environment.to_stored()) == hash_json(goal.goal.environment)
        and {name: content_hash(text) for name, text in source.files.items()} == goal.goal.files
    )


def _earlier_template(
    source: TemplateSource, goal: StoredGoal, services: StackServices
) -> Template:
    if source.text == goal.text:
        return source.template
    return Template.parse(
        goal.text, limits=services.limits, section_error=None, packed=PACKED_SECTIONS
    )


def _differ_in_resources_alone(before: Template, after: Template) -> bool:
    """Return whether all other sections that resources may read are the same."""
    dialect = after.version.dialect
    free = {dialect.resources, dialect.outputs, dialect.description}
    names = (before.raw.keys() | after.raw.keys()) - free
    return before is after or all(
        hash_json(before.raw.get(name)) == hash_json(after.raw.get(name)) for name in names
    )


def _snippets(template: Template) -> Snippets:
    section = template.section(template.version.dialect.resources)
    return section if isinstance(section, Mapping) else {}


def _read_types(
    services: StackServices,
    source: TemplateSource,
    snippets: Iterable[Snippets],
    is_type_forbidden: TypeForbidden,
) -> TypeRules | None:
    """Return the types of all resources, None if one has to be looked at in every update."""
    key = source.template.version.dialect.type
    # An update without a change has the same map twice.
    different = {id(each): each for each in snippets}.values()
    names = {_type_name(raw, key) for each in different for raw in each.values()}
    if None in names:
        return None
    implementations: dict[str, str] = {}
    implicit: dict[str, frozenset[str]] = {}
    for name in filter(None, names):
        found = _plain_type(services, source, name)
        if found is None or is_type_forbidden(found[0]):
            return None
        implementations[name] = found[0]
        others = frozenset(rule.other_type for rule in found[1].implicit_dependencies)
        implicit |= {found[0]: others} if others else {}
    return TypeRules(implementations, implicit, frozenset(services.functions))


def _type_name(raw: Json, key: str) -> str | None:
    name = raw.get(key) if isinstance(raw, dict) else None
    return name if isinstance(name, str) else None


def _plain_type(
    services: StackServices, source: TemplateSource, name: str
) -> tuple[str, ResourceType] | None:
    """Return what implements a type, None unless its resources depend on their texts alone."""
    implementation = source.environment.registry.resolve(name)
    if is_template_name(implementation):
        return None
    found = services.registry.get_for_template(implementation)
    found.check_available()
    special = (
        isinstance(found, NestedType)
        or may_repeat_properties(found)
        or found.replace_on_update
        or found.stack_source_property is not None
        # Such a dependent changes the resource that it requires.
        or ReadinessLevel.HEALTHY in found.dependent_levels.values()
    )
    return None if special else (implementation, found)


def _check_steps(snippets: Snippets, limits: TemplateLimits) -> None:
    """Check that the whole, which a rollback evaluates, is within the limits of an evaluation.

    Raises:
        RequestLimitExceeded: its resources take too many steps, apart from functions.
    """
    most = int(_STEPS_SHARE * limits.max_evaluation_steps)
    budget = EvaluationBudget(replace(limits, max_evaluation_steps=most))
    budget.charge(STEPS_PER_RESOURCE * len(snippets))
    if not budget.covers_section(encode_json(snippets)):
        budget.charge_section(snippets)


def _part_of(
    source: TemplateSource,
    snippets: Snippets,
    selected: SelectedPart,
    rules: TypeRules,
    version: int,
) -> ChangedPart:
    template, dialect = source.template, source.template.version.dialect
    chosen = {name: snippets[name] for name in snippets if name in selected.names}
    others = len(snippets) - len(selected.names & snippets.keys())
    conditional = 0
    if dialect.condition in source.text:
        conditional = sum(
            dialect.condition in raw
            for name, raw in snippets.items()
            if name not in selected.names
        )
    document = Document({**template.raw, dialect.resources: chosen})
    part = GoalPart(
        version=version,
        names=selected.names,
        changing=selected.changing,
        implementations=rules.implementations,
        fewest_others=others - conditional,
        most_others=others,
    )
    return ChangedPart(replace(source, template=replace(template, document=document)), part)
