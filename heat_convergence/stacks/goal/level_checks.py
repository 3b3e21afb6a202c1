"""Checks of one stack of a tree, beside those of the resources' own properties.

Called by ``nested_validation`` for the root and for every nested stack.  Decides nothing about
the stacks below it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from heat_convergence.common.errors import Error
from heat_convergence.resources.nested.nested_type import NestedStackSource, NestedType
from heat_convergence.stacks.goal.facades import TemplateTypeRegistry
from heat_convergence.template.diagnostics import Diagnostics, ValidationPhase
from heat_convergence.template.environment.resource_registry import ResourceRegistry
from heat_convergence.template.environment.stabilization import STABILIZATION
from heat_convergence.template.evaluation.references import attribute_references

Json = Any


def check_attribute_paths(
    value: Json,
    implementations: Mapping[str, str],
    types: TemplateTypeRegistry,
    path: tuple[str, ...],
    diagnostics: Diagnostics,
) -> None:
    """Report attributes that nested stacks do not have.

    Args:
        value: what refers to attributes.
        implementations: resource name to the type or template that its type resolves to.
        types: the resource types.
        path: where the value stands.
        diagnostics: receives the mistakes.
    """
    for reference in attribute_references(value):
        if reference.attribute is None or reference.resource not in implementations:
            continue
        try:
            resource_type = types.get_for_template(implementations[reference.resource])
        except Error:
            continue  # reported already
        try:
            if isinstance(resource_type, NestedType):
                resource_type.check_attribute_path(reference.attribute, reference.path)
        except Error as error:
            diagnostics.add(ValidationPhase.OUTPUTS, error, path)


def find_stabilization_error(
    entries: ResourceRegistry, resource_name: str, timeout_s: float
) -> str | None:
    """Return why a resource's window lets no action be complete; None if it leaves time.

    Args:
        entries: the registry of the stack's environment.
        resource_name: a resource that has no nested stack.
        timeout_s: how long an action of the stack may take.
    """
    window_s = entries.stabilization_s(resource_name)
    if window_s < timeout_s:
        return None
    return (
        f"The {STABILIZATION} window of {window_s} seconds leaves no time within the timeout of"
        f" the stack, which is {timeout_s:g} seconds"
    )


def shorter_timeout_s(timeout_s: float | None, source: NestedStackSource) -> float | None:
    """Return how long an action of a nested stack may take, whose parent has a timeout, too."""
    if timeout_s is None or source.timeout_mins is None:
        return timeout_s
    return min(timeout_s, source.timeout_mins * 60.0)
