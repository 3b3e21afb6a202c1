"""Random trees of stacks, built from flat templates.

Used by the scenario generator.  Everything is drawn from the random generators passed
in.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import replace

from heat_convergence.testing.simulation.workload.template_notation import (
    NESTED_STACK,
    RESOURCE_CHAIN,
    RESOURCE_GROUP,
    SCALING_GROUP,
    SCALING_POLICY,
    ResourceSpec,
    TemplateSpec,
)

_HOOKS = ("pre-create", "post-create", "pre-update", "post-update", "pre-delete", "post-delete")


class TreeBuilder:
    """A conversion of flat templates to trees, the same for every template of a history.

    The same names become nested stacks or groups and have the same hooks.  Every scaling
    group of a root stack has two policies.

    Args:
        rng: decides on nested stacks, hooks and groups.
        group_rng: decides on chains and nested groups; its own generator, so that older
            seeds keep the rest of their histories.
    """

    def __init__(self, rng: random.Random, group_rng: random.Random) -> None:
        self.nested_names = frozenset(name for name in "abcdef" if rng.random() < 0.5)
        self.two_levels = rng.random() < 0.5
        has_hooks = rng.random() < 0.7
        self.hooks = {
            path: (rng.choice(_HOOKS),)
            for path in [*"abcdef", *(f"{name}.{nested}" for name in "abcdef" for nested in "xy")]
            if has_hooks and rng.random() < 0.25
        }
        others = [name for name in "abcdef" if name not in self.nested_names]
        grouped = rng.random() < 0.5
        self.group_aliases = {
            name: rng.choice((RESOURCE_GROUP, SCALING_GROUP))
            for name in others
            if grouped and rng.random() < 0.5
        }
        for name, alias in self.group_aliases.items():
            if alias == RESOURCE_GROUP and group_rng.random() < 0.4:
                self.group_aliases[name] = RESOURCE_CHAIN
        has_nested_groups = group_rng.random() < 0.5
        self.nested_groups = {
            name: group_rng.choice((RESOURCE_GROUP, RESOURCE_CHAIN, SCALING_GROUP))
            for name in sorted(self.nested_names)
            if has_nested_groups and group_rng.random() < 0.6
        }
        self.batch = rng.choice((0, 1, 2))
        self.cooldown = rng.choice((0, 10))

    @property
    def scaling_policies(self) -> dict[str, ResourceSpec]:
        """All scaling policies by name, also those whose group a template lacks."""
        return {
            f"{way}{name}": ResourceSpec(f"{way}{name}", SCALING_POLICY, group=name, adjustment=by)
            for name, alias in sorted(self.group_aliases.items())
            if alias == SCALING_GROUP
            for way, by in (("up", 2), ("down", -1))
        }

    def build(self, template: TemplateSpec) -> dict[str, ResourceSpec]:
        """Return the tree of a flat template."""
        names = {name for name, spec in template.items() if spec.type_alias == "Resource"}
        nested, groups = names & self.nested_names, names & self.group_aliases.keys()
        found = {name: self._converted(spec, nested, groups) for name, spec in template.items()}
        policies = self.scaling_policies.items()
        return found | {name: policy for name, policy in policies if policy.group in groups}

    def _converted(self, spec: ResourceSpec, nested: set[str], groups: set[str]) -> ResourceSpec:
        hooks = self.hooks.get(spec.name, ())
        # Neither has an id or attribute that others could use.
        dependencies = [name for name in spec.references if name in nested | groups]
        dependencies += [name for name in spec.attributes if name in groups]
        spec = replace(
            spec,
            hooks=hooks,
            references=tuple(name for name in spec.references if name not in nested | groups),
            attributes=tuple(name for name in spec.attributes if name not in groups),
            depends_on=(*spec.depends_on, *dependencies),
        )
        if spec.name in groups:
            return self._group(spec, self.group_aliases[spec.name])
        if spec.name not in nested:
            return spec
        return ResourceSpec(
            spec.name,
            NESTED_STACK,
            attributes=spec.attributes,
            depends_on=tuple(dict.fromkeys((*spec.depends_on, *spec.references))),
            hooks=hooks,
            retain=spec.retain,
            nested_specs=tuple(self._nested_specs(spec)),
        )

    def _group(self, spec: ResourceSpec, type_alias: str) -> ResourceSpec:
        return ResourceSpec(
            spec.name,
            type_alias,
            size=spec.size,
            flavor=spec.flavor,
            depends_on=tuple(sorted(spec.requires)),
            hooks=spec.hooks,
            retain=spec.retain,
            batch=0 if type_alias == RESOURCE_CHAIN else self.batch,
            cooldown=self.cooldown if type_alias == SCALING_GROUP else 0,
        )

    def _nested_specs(self, spec: ResourceSpec) -> Iterator[ResourceSpec]:
        def hooks(name: str) -> tuple[str, ...]:
            return self.hooks.get(f"{spec.name}.{name}", ())

        yield ResourceSpec("x", size=spec.size, flavor=spec.flavor, hooks=hooks("x"))
        yield ResourceSpec("y", replace_key=spec.replace_key, attributes=("x",), hooks=hooks("y"))
        if spec.name in self.nested_groups:
            group = ResourceSpec("g", size=spec.size, flavor=spec.flavor, depends_on=("y",))
            yield self._group(group, self.nested_groups[spec.name])
        if self.two_levels and spec.size == 2:
            yield ResourceSpec(
                "z",
                NESTED_STACK,
                attributes=("y",),
                nested_specs=(ResourceSpec("w", size=spec.replace_key),),
            )
