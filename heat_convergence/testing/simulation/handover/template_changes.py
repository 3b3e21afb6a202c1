"""The templates that users write for hand-overs of resources.

Decides which resources go together and what they are called afterwards.  Used by the simulated
users; reads nothing but templates.
"""

from __future__ import annotations

import string
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from heat_convergence.testing.simulation.workload.template_notation import (
    TYPE_NAMES,
    ResourceSpec,
    TemplateSpec,
)

_ALIASES = {type_name: alias for alias, type_name in TYPE_NAMES.items()}
_NAMES = string.ascii_lowercase


def connected_names(template: TemplateSpec, name: str) -> frozenset[str]:
    """Return a resource with all that it needs or that needs it, through others as well."""
    found, waiting = {name}, [name]
    while waiting:
        current = waiting.pop()
        near = set(template[current].requires) if current in template else set()
        near |= {other for other, spec in template.items() if current in spec.requires}
        waiting.extend(sorted(near - found))
        found |= near
    return frozenset(found)


def free_names(names: Iterable[str], taken: Iterable[str]) -> dict[str, str]:
    """Return new names for resources: their own where it is free, else the next letter."""
    used, found = set(taken), {}
    for name in sorted(names):
        free = (each for each in (name, *_NAMES) if each not in used)
        found[name] = next(free, f"{name}{len(used)}")
        used.add(found[name])
    return found


def without_names(template: TemplateSpec, names: Iterable[str]) -> dict[str, ResourceSpec]:
    """Return a template without some of its resources."""
    left_out = set(names)
    return {name: spec for name, spec in template.items() if name not in left_out}


def renamed(template: TemplateSpec, names: Mapping[str, str]) -> dict[str, ResourceSpec]:
    """Return a template whose resources have other names, also where others refer to them."""

    def new_names(old: Iterable[str]) -> tuple[str, ...]:
        return tuple(names.get(each, each) for each in old)

    found = {}
    for name, spec in template.items():
        found[names.get(name, name)] = replace(
            spec,
            name=names.get(name, name),
            references=new_names(spec.references),
            attributes=new_names(spec.attributes),
            depends_on=new_names(spec.depends_on),
        )
    return found


def spec_of_object(name: str, type_name: str, properties: Mapping[str, Any]) -> ResourceSpec:
    """Return the resource that describes an existing object without references."""
    return ResourceSpec(
        name,
        _ALIASES[type_name],
        size=properties["size"],
        replace_key=properties["replace_key"],
        flavor=properties["flavor"],
        snapshot_id=properties["snapshot_id"],
    )
