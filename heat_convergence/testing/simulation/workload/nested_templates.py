"""Nested stacks in scenarios, and hooks at any depth.

Decides what a ``NestedStack`` consists of: a real template in a file of the goal, from which
real engines create a nested stack.  Used by the simulated users, the invariant checker
and the scenario generator; reads no rows but those passed in.

    n: NestedStack depends_on=a hooks=pre-create
    n.b: Resource size=2
    n.c: Resource attributes=b hooks=post-update
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from heat_convergence.common.evaluation.evaluation_guard import check_no_locks_held
from heat_convergence.convergence.lifecycle.rollback import DesiredEvaluation
from heat_convergence.convergence.model.goal import Goal
from heat_convergence.convergence.model.stack import Stack
from heat_convergence.convergence.planning.desired_state import DesiredResource
from heat_convergence.convergence.ports.store import Transaction
from heat_convergence.stacks.goal.desired_resources import (
    ATTRIBUTE_PATHS_KEY,
    CONTENT_DIGEST_KEY,
)
from heat_convergence.template.environment.readiness import READINESS
from heat_convergence.template.environment.registry_checks import RESTORED_PROPERTIES
from heat_convergence.template.environment.stabilization import STABILIZATION
from heat_convergence.template.evaluation.resource_definition import ResourceDefinition
from heat_convergence.template.expression import Expression
from heat_convergence.testing.simulation.workload import scaling_groups, template_notation
from heat_convergence.testing.simulation.workload.template_notation import (
    NESTED_STACK,
    TYPE_NAMES,
    ResourceSpec,
    TemplateSpec,
)

Json = Any
PhysicalIdLookup = Callable[[str], str | None]  # a resource's name → its physical id


def desired_resources(template: TemplateSpec) -> Mapping[str, DesiredResource]:
    """Return the desired resources of a root stack."""
    flat = {name: spec for name, spec in template.items() if spec.type_alias in TYPE_NAMES}
    found = template_notation.desired_resources(flat)
    for name, spec in template.items():
        if spec.type_alias == NESTED_STACK:
            found[name] = _nested_resource(spec, template)
        elif spec.type_alias in scaling_groups.SCALING_TYPE_ALIASES:
            found[name] = scaling_groups.desired_resource(spec)
        found[name] = replace(found[name], hooks_and_restrictions=spec.restrictions)
    found = {name: found[name] for name in sorted(found)}  # as in the template's text
    return template_notation.with_levels(found, template)


def rebuild_desired(tx: Transaction, stack: Stack, goal: Goal) -> DesiredEvaluation:
    """Return a function that evaluates a stored goal, as ``DefinitionRebuilder`` does."""
    text = tx.contents.get([goal.template_hash])[goal.template_hash]

    def evaluate() -> Mapping[str, DesiredResource]:
        check_no_locks_held("the rebuilding of a goal")
        return desired_resources(template_notation.parse_template(text))

    return evaluate


def nested_files(template: TemplateSpec, prefix: str = "") -> dict[str, str]:
    """Return the templates of all nested stacks, by the file names that are their types."""
    found = {}
    for name, spec in template.items():
        if spec.type_alias == NESTED_STACK:
            path = f"{prefix}{name}."
            found[f"{path}yaml"] = json.dumps(_hot(spec.nested_template, path), sort_keys=True)
            found.update(nested_files(spec.nested_template, path))
    return found


def resource_paths(template: TemplateSpec, prefix: str = "") -> Iterator[str]:
    """Yield the paths of all resources, except nested stacks and members of groups."""
    for name, spec in template.items():
        if spec.type_alias == NESTED_STACK:
            yield from resource_paths(spec.nested_template, f"{prefix}{name}.")
        elif spec.type_alias in TYPE_NAMES:
            yield f"{prefix}{name}"


def template_environment(template: TemplateSpec) -> dict[str, Json]:
    """Return the environment: hooks in nested stacks, and the properties to restore there."""
    return {"resource_registry": {"resources": _hooks(template)}}


def expected_properties(
    template: TemplateSpec,
    id_of: PhysicalIdLookup,
    nested_ids: Callable[[str], PhysicalIdLookup],
) -> dict[str, Mapping[str, Json] | None]:
    """Return, by name, the properties that the objects must have.

    Args:
        template: the template of the stack.
        id_of: returns the physical id of a resource of the template.
        nested_ids: returns the lookup of physical ids inside a nested stack.

    Returns:
        None as the properties of a nested stack or group, which must merely exist.
    """
    flat, ids = dict(template), {}
    for name, spec in template.items():
        source = _address_source(spec.nested_template) if spec.type_alias == NESTED_STACK else None
        if source is not None:
            flat[name] = replace(spec, size=source.size, references=(), attributes=())
            ids[name] = nested_ids(name)(source.name)
    found = template_notation.expected_properties(flat, lambda name: ids.get(name) or id_of(name))
    return {
        name: found[name] if template[name].type_alias in TYPE_NAMES else None for name in template
    }


def nested_template_text(template: TemplateSpec, name: str) -> str:
    """Return the template text of a nested stack."""
    return template_notation.format_template(template[name].nested_template)


def _nested_resource(spec: ResourceSpec, template: TemplateSpec) -> DesiredResource:
    addresses = [
        Expression("get_attr", "attr_optional_name", [n, "address"]) for n in spec.attributes
    ]
    definition = ResourceDefinition(
        name=spec.name,
        type=f"{spec.name}.yaml",
        properties={"given": addresses} if addresses else {},
        deletion_policy=template_notation.deletion_policy(spec),
        requires=spec.requires,
        referenced_names=frozenset(spec.attributes),
    )
    content = json.dumps(
        [nested_files({spec.name: spec}), _hooks(spec.nested_template)], sort_keys=True
    )
    read = any(spec.name in other.attributes for other in template.values())
    nested_keys = {
        CONTENT_DIGEST_KEY: hashlib.sha256(content.encode()).hexdigest(),
        ATTRIBUTE_PATHS_KEY: [["address"]] if read else [],
    }
    return DesiredResource.from_definition(definition, definition.type, nested_keys)


def _hooks(template: TemplateSpec) -> dict[str, Json]:
    found: dict[str, Json] = {}
    for name, spec in template.items():
        own: dict[str, Json] = {"hooks": list(spec.hooks)} if spec.hooks else {}
        if spec.readiness:
            own[READINESS] = spec.readiness
        if spec.stabilization:
            own[STABILIZATION] = spec.stabilization
        if spec.snapshot_id:
            own[RESTORED_PROPERTIES] = {"snapshot_id": spec.snapshot_id}
        own.update(_hooks(spec.nested_template))
        if own:
            found[name] = own
    return found


def _hot(template: TemplateSpec, prefix: str) -> dict[str, Json]:
    outputs = {}
    source = _address_source(template)
    if source is not None:
        outputs["address"] = {"value": {"get_attr": [source.name, "address"]}}
    return {
        "heat_template_version": "2021-04-16",
        "description": template_notation.format_template(template),  # read by parse_template
        "parameters": {"given": {"type": "json", "default": []}},
        "resources": {name: _resource(spec, prefix) for name, spec in template.items()},
        "outputs": outputs,
    }


def _resource(spec: ResourceSpec, prefix: str) -> dict[str, Json]:
    if spec.type_alias in scaling_groups.SCALING_TYPE_ALIASES:
        return scaling_groups.template_resource(spec)
    reads = [{"get_attr": [name, "address"]} for name in spec.attributes]
    options: dict[str, Json] = {"depends_on": list(spec.depends_on)} if spec.depends_on else {}
    if spec.retain:
        options["deletion_policy"] = "retain"
    if spec.type_alias == NESTED_STACK:
        addresses = {"given": reads} if reads else {}
        return {"type": f"{prefix}{spec.name}.yaml", "properties": addresses, **options}
    # The snapshot to restore from comes from the environment.
    properties: dict[str, Json] = {
        name: getattr(spec, name)
        for name in template_notation.PROPERTY_NAMES
        if name != "snapshot_id"
    }
    if spec.references:
        properties["references"] = [{"get_resource": name} for name in spec.references]
    if reads:
        properties["attributes"] = reads
    return {"type": TYPE_NAMES[spec.type_alias], "properties": properties, **options}


def _address_source(template: TemplateSpec) -> ResourceSpec | None:
    """Return the resource whose address is the output of a nested stack."""
    specs = (template[name] for name in sorted(template))
    return next((spec for spec in specs if spec.type_alias in ("Resource", "Immutable")), None)
