"""The readiness level of each requirement at which its dependent may start.

Decides it from the data of resource types and the demands of users, when a goal becomes desired
resources.  A dependent that only needs the id may start before the requirement is done; one that
reads an attribute, or names the requirement in ``depends_on``, waits for *active* at least, as it
does where no data says otherwise.

Source: docs/use/readiness.rst.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from fnmatch import fnmatchcase

from heat_convergence.common.values.packed_map import pack_if_large
from heat_convergence.convergence.planning.desired_state import DesiredResource
from heat_convergence.template.environment.readiness import (
    ReadinessLevel,
    demands_health,
    highest,
    level_from_words,
    level_word,
)
from heat_convergence.template.evaluation.references import attribute_references
from heat_convergence.template.evaluation.resource_definition import ResourceDefinition
from heat_convergence.template.expression import iter_expressions

DependentLevels = Mapping[str, ReadinessLevel]
"""Type of a dependent, or a pattern of types → the level that it waits for."""

_ID_FUNCTIONS = frozenset({"get_resource", "Ref"})
_POST_HOOK = "post-"


def level_for_dependent(levels: DependentLevels, type_name: str) -> ReadinessLevel:
    """Return the level that a dependent of a type waits for: the longest pattern's."""
    matching = [each for each in levels if fnmatchcase(type_name, each)]
    best = max(matching, key=lambda each: (each == type_name, len(each)), default=None)
    return ReadinessLevel.ACTIVE if best is None else levels[best]


def with_requirement_levels(
    desired: Mapping[str, DesiredResource],
    definitions: Mapping[str, ResourceDefinition],
    dependent_levels: Mapping[str, DependentLevels],
) -> Mapping[str, DesiredResource]:
    """Return the desired resources with the levels at which they may start.

    Args:
        desired: the desired resources by name.
        definitions: their definitions by name.
        dependent_levels: name → the levels of its type, for types that have any.
    """
    if not dependent_levels:
        return desired  # what is demanded of a resource holds for its job alone
    demanded = {
        name: level
        for name, each in desired.items()
        if (level := level_from_words(each.hooks_and_restrictions)) is not None
    }
    waits = {
        name: _levels_of(each, definitions[name], desired, dependent_levels)
        for name, each in desired.items()
        if not each.requires.isdisjoint(dependent_levels)
    }
    needed: dict[str, list[ReadinessLevel]] = {}
    for levels in waits.values():
        for need, level in levels.items():
            needed.setdefault(need, []).append(level)
    goals = {
        name: highest([ReadinessLevel.ACTIVE, *needed.get(name, ()), *_one(demanded.get(name))])
        for name in {*needed, *demanded}
    }
    return pack_if_large(
        (
            name,
            _with_goal(
                replace(each, requirement_levels=_early(waits.get(name, {}), demanded, goals)),
                goals.get(name),
            ),
        )
        for name, each in desired.items()
    )


def _one(level: ReadinessLevel | None) -> tuple[ReadinessLevel, ...]:
    return () if level is None else (level,)


def _levels_of(
    dependent: DesiredResource,
    definition: ResourceDefinition,
    desired: Mapping[str, DesiredResource],
    dependent_levels: Mapping[str, DependentLevels],
) -> dict[str, ReadinessLevel]:
    """Return the levels that a resource waits for by the data of types, by requirement."""
    early = _names_of_ids(definition) - definition.depends_on
    found = {}
    for need in dependent.requires & dependent_levels.keys() & desired.keys():
        level = level_for_dependent(dependent_levels[need], dependent.implementation)
        words = desired[need].hooks_and_restrictions
        held = any(word.startswith(_POST_HOOK) for word in words)
        if need not in early or held:  # a hook after it holds what depends on it
            level = highest([level, ReadinessLevel.ACTIVE]) or level
        found[need] = level
    return found


def _names_of_ids(definition: ResourceDefinition) -> frozenset[str]:
    """Return the names of the resources of which the definition reads the id and nothing else."""
    sections = [definition.properties, definition.metadata, definition.update_policy]
    ids = {
        call.arguments
        for _, call in iter_expressions(sections)
        if call.function in _ID_FUNCTIONS and isinstance(call.arguments, str)
    }
    return frozenset(ids) - {each.resource for each in attribute_references(sections)}


def _early(
    waits: Mapping[str, ReadinessLevel],
    demanded: Mapping[str, ReadinessLevel],
    goals: Mapping[str, ReadinessLevel | None],
) -> dict[str, ReadinessLevel]:
    """Return the levels that requirements reach before they are done."""
    found = {}
    for need, level in waits.items():
        least, goal = highest([level, *_one(demanded.get(need))]), goals[need]
        if least is not None and goal is not None and not least.includes(goal):
            found[need] = least
    return found


def _with_goal(each: DesiredResource, goal: ReadinessLevel | None) -> DesiredResource:
    """Return the resource with the demand to be healthy that its dependents have."""
    words = each.hooks_and_restrictions
    if goal is not ReadinessLevel.HEALTHY or demands_health(words):
        return each
    return replace(each, hooks_and_restrictions=tuple(sorted((*words, level_word(goal)))))
