"""The check of an environment's drift policies against a template.

Called by ``stack_builder`` for root stacks.  Decides whether the patterns and properties that the
environment names exist; their policies are checked when the environment is parsed.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from fnmatch import fnmatchcase

from heat_convergence.common.errors import HTTPBadRequest
from heat_convergence.resources.nested.nested_type import NestedType
from heat_convergence.resources.registry import ResourceTypeRegistry
from heat_convergence.template.diagnostics import did_you_mean
from heat_convergence.template.environment.resource_patterns import STEPS_PER_PATTERN
from heat_convergence.template.environment.resource_registry import ResourceRegistry
from heat_convergence.template.evaluation_budget import ENTRIES_PER_STEP, charge_if_bounded


def check_drift_patterns(
    entries: ResourceRegistry,
    names: Collection[str],
    implementations: Mapping[str, str],
    types: ResourceTypeRegistry,
) -> None:
    """Check the drift policies of resources of the root stack.

    Args:
        entries: the environment's registry.
        names: the template's resources, those whose condition is false too.
        implementations: resource name → type or template.
        types: the resource types.

    Raises:
        HTTPBadRequest: a pattern matches no resource, or no resource has a property.
        RequestLimitExceeded: there are too many patterns and resources.
    """
    for pattern, properties in entries.drift_patterns().items():
        path = f"resource_registry.resources.{pattern}.drift"
        charge_if_bounded(STEPS_PER_PATTERN + len(names) // ENTRIES_PER_STEP)
        matching = [name for name in names if fnmatchcase(name, pattern)]
        if not matching:
            hint = did_you_mean(pattern, names)
            raise HTTPBadRequest(f'{path}: the template has no resource "{pattern}"{hint}')
        known = _known_properties([implementations.get(name) for name in matching], types)
        for name in sorted(properties):
            if known is not None and name not in known:
                hint = did_you_mean(name, known)
                raise HTTPBadRequest(
                    f'{path}.properties: no resource "{pattern}" has a property "{name}"{hint}'
                )


def _known_properties(
    implementations: Collection[str | None], types: ResourceTypeRegistry
) -> frozenset[str] | None:
    """Return the properties of all types; None if they are not known of one."""
    found: set[str] = set()
    for implementation in implementations:
        resource_type = None if implementation is None else types.find(implementation)
        if resource_type is None or isinstance(resource_type, NestedType):
            return None
        found.update(resource_type.schema.properties)
    return frozenset(found)
