"""Random templates, and random changes of them.

Used by the request generator.  Everything is drawn from the random generator passed in.
"""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import replace

from heat_convergence.testing.simulation.workload.template_notation import ResourceSpec

RESOURCE_NAMES = "abcdefgh"
_TYPE_ALIASES = ("Resource",) * 7 + ("Immutable",) * 2 + ("Signalled",)


def initial_template(rng: random.Random) -> dict[str, ResourceSpec]:
    """Draw a first template."""
    template: dict[str, ResourceSpec] = {}
    for name in RESOURCE_NAMES[: rng.randint(1, 6)]:
        template[name] = _with_dependencies(rng, _spec(rng, name), template)
    return template


def _spec(rng: random.Random, name: str) -> ResourceSpec:
    return ResourceSpec(
        name=name,
        type_alias=rng.choice(_TYPE_ALIASES),
        size=rng.randint(1, 3),
        flavor=rng.choice(("plain", "salty")),
        retain=rng.random() < 0.05,
        snapshot=rng.random() < 0.08,
    )


def _with_dependencies(
    rng: random.Random, spec: ResourceSpec, others: Mapping[str, ResourceSpec]
) -> ResourceSpec:
    """Return the resource with random dependencies on the others, which form no cycle."""
    dependencies: dict[str, list[str]] = {"references": [], "attributes": [], "depends_on": []}
    for name in sorted(others):
        if rng.random() < 0.35:
            dependencies[rng.choice(("references", "attributes", "depends_on"))].append(name)
    return replace(
        spec,
        references=tuple(dependencies["references"]),
        attributes=tuple(dependencies["attributes"]),
        depends_on=tuple(dependencies["depends_on"]),
    )


def changed_template(
    rng: random.Random, template: Mapping[str, ResourceSpec]
) -> dict[str, ResourceSpec]:
    """Draw a change: other properties, fewer or more resources, other dependencies."""
    changed = dict(template)
    for _ in range(rng.randint(0, 3)):
        name = rng.choice(RESOURCE_NAMES[:6])
        if name in changed and rng.random() < 0.3:
            del changed[name]
        elif name in changed:
            changed[name] = _with_changed_property(rng, changed[name])
        else:
            changed[name] = _spec(rng, name)
    order = sorted(changed)
    if rng.random() < 0.3:
        rng.shuffle(order)  # dependencies are reversed
        return _with_new_dependencies(rng, changed, order)
    return {
        name: replace(
            spec,
            references=_existing(spec.references, changed),
            attributes=_existing(spec.attributes, changed),
            depends_on=_existing(spec.depends_on, changed),
        )
        for name, spec in changed.items()
    }


def _with_changed_property(rng: random.Random, spec: ResourceSpec) -> ResourceSpec:
    name = rng.choice(("size", "size", "replace_key", "flavor", "type_alias", "retain"))
    if name == "size":
        return replace(spec, size=rng.randint(1, 3))
    if name == "replace_key":
        return replace(spec, replace_key=rng.randint(1, 3))
    if name == "flavor":
        return replace(spec, flavor=rng.choice(("plain", "salty", "sweet")))
    if name == "type_alias":
        return replace(spec, type_alias=rng.choice(("Resource", "Immutable")))
    return spec


def _with_new_dependencies(
    rng: random.Random, template: Mapping[str, ResourceSpec], order: list[str]
) -> dict[str, ResourceSpec]:
    changed: dict[str, ResourceSpec] = {}
    for name in order:
        changed[name] = _with_dependencies(rng, template[name], changed)
    return changed


def _existing(names: tuple[str, ...], template: Mapping[str, ResourceSpec]) -> tuple[str, ...]:
    return tuple(name for name in names if name in template)
