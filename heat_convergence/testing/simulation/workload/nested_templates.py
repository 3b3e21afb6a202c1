"""Trees of stacks in the simulated world: nests, and hooks at any depth.

Decides what a resource of kind ``Nest`` is made of: a real template, a file of its
goal, of which real engines make a nested stack.  Used by users, by the watch and by
the generator of histories; knows no rows but those it is handed.

    n: Nest after=a hooks=pre-create
    n.b: Thing size=2
    n.c: Thing reads=b hooks=post-update
"""

from __future__ import annotations

import hashlib
import json
import random
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from heat_convergence.convergence.model.goal import Goal
from heat_convergence.convergence.model.stack import Stack
from heat_convergence.convergence.planning.desired_state import DesiredResource
from heat_convergence.convergence.ports.store import Transaction
from heat_convergence.stacks.goal.desired_resources import (
    ATTRIBUTE_PATHS_KEY,
    CONTENT_DIGEST_KEY,
)
from heat_convergence.template.environment.resource_registry import RESTORED_PROPERTIES
from heat_convergence.template.evaluation.resource_definition import ResourceDefinition
from heat_convergence.template.expression import Expression
from heat_convergence.testing.simulation.workload import scaling_groups, template_notation
from heat_convergence.testing.simulation.workload.template_notation import (
    NESTED_STACK,
    RESOURCE_CHAIN,
    RESOURCE_GROUP,
    SCALING_GROUP,
    SCALING_POLICY,
    TYPE_NAMES,
    ResourceSpec,
    TemplateSpec,
)

Json = Any
PhysicalIdLookup = Callable[[str], str | None]  # a resource's name → its physical id


def desired_resources(template: TemplateSpec) -> dict[str, DesiredResource]:
    """As a traversal of a root takes it."""
    flat = {name: spec for name, spec in template.items() if spec.type_alias in TYPE_NAMES}
    found = template_notation.desired_resources(flat)
    for name, spec in template.items():
        if spec.type_alias == NESTED_STACK:
            found[name] = _nest(spec, template)
        elif spec.type_alias in scaling_groups.SCALING_TYPE_ALIASES:
            found[name] = scaling_groups.desired_resource(spec)
        found[name] = replace(found[name], hooks_and_restrictions=tuple(sorted(spec.hooks)))
    return found


def rebuild_desired(tx: Transaction, stack: Stack, goal: Goal) -> Mapping[str, DesiredResource]:
    """``convergence.rollback.DefinitionRebuilder``."""
    return desired_resources(
        template_notation.parse_template(tx.contents.get([goal.template_hash])[goal.template_hash])
    )


def nested_files(template: TemplateSpec, prefix: str = "") -> dict[str, str]:
    """The texts behind all nests, by the names that their types have."""
    found = {}
    for name, spec in template.items():
        if spec.type_alias == NESTED_STACK:
            path = f"{prefix}{name}."
            found[f"{path}yaml"] = json.dumps(_hot(spec.nested_template, path), sort_keys=True)
            found.update(nested_files(spec.nested_template, path))
    return found


def resource_paths(template: TemplateSpec, prefix: str = "") -> Iterator[str]:
    """Of every thing; members of groups have names that no template has."""
    for name, spec in template.items():
        if spec.type_alias == NESTED_STACK:
            yield from resource_paths(spec.nested_template, f"{prefix}{name}.")
        elif spec.type_alias in TYPE_NAMES:
            yield f"{prefix}{name}"


def template_environment(template: TemplateSpec) -> dict[str, Json]:
    """What hooks below the root say, and what brings resources there back."""
    return {"resource_registry": {"resources": _hooks(template)}}


def expected_properties(
    template: TemplateSpec, id_of: PhysicalIdLookup, inside: Callable[[str], PhysicalIdLookup]
) -> dict[str, Mapping[str, Json] | None]:
    """As ``goals.expected_properties``; of a nest or group only that it is there: null.
    ``inside`` gives
    the ids in the stack behind a nest."""
    plain, ids = dict(template), {}
    for name, spec in template.items():
        shown = _shown(spec) if spec.type_alias == NESTED_STACK else None
        if shown is not None:
            plain[name] = replace(spec, size=shown.size, refs=(), reads=())
            ids[name] = inside(name)(shown.name)
    known = template_notation.expected_properties(plain, lambda name: ids.get(name) or id_of(name))
    return {
        name: known[name] if template[name].type_alias in TYPE_NAMES else None for name in template
    }


def nested_template_text(template: TemplateSpec, name: str) -> str:
    """What the goal of the stack behind a nest says."""
    return template_notation.format_template(template[name].nested_template)


def _nest(spec: ResourceSpec, template: TemplateSpec) -> DesiredResource:
    referenced_names = frozenset(spec.reads)
    given = [Expression("get_attr", "attr_optional_name", [n, "address"]) for n in spec.reads]
    definition = ResourceDefinition(
        name=spec.name,
        type=f"{spec.name}.yaml",
        properties={"given": given} if given else {},
        deletion_policy=template_notation.deletion_policy(spec),
        requires=spec.requires,
        referenced_names=referenced_names,
    )
    made_of = json.dumps(
        [nested_files({spec.name: spec}), _hooks(spec.nested_template)], sort_keys=True
    )
    read = any(spec.name in other.reads for other in template.values())
    behind = {
        CONTENT_DIGEST_KEY: hashlib.sha256(made_of.encode()).hexdigest(),
        ATTRIBUTE_PATHS_KEY: [["address"]] if read else [],
    }
    return DesiredResource.from_definition(definition, definition.type, behind)


def _hooks(template: TemplateSpec) -> dict[str, Json]:
    found: dict[str, Json] = {}
    for name, spec in template.items():
        own: dict[str, Json] = {"hooks": list(spec.hooks)} if spec.hooks else {}
        if spec.source:
            own[RESTORED_PROPERTIES] = {"source": spec.source}
        own.update(_hooks(spec.nested_template))
        if own:
            found[name] = own
    return found


def _hot(template: TemplateSpec, prefix: str) -> dict[str, Json]:
    outputs = {}
    shown = _shown_in(template)
    if shown is not None:
        outputs["address"] = {"value": {"get_attr": [shown.name, "address"]}}
    return {
        "heat_template_version": "2021-04-16",
        "description": template_notation.format_template(template),  # how the watch reads it again
        "parameters": {"given": {"type": "json", "default": []}},
        "resources": {name: _resource(spec, prefix) for name, spec in template.items()},
        "outputs": outputs,
    }


def _resource(spec: ResourceSpec, prefix: str) -> dict[str, Json]:
    if spec.type_alias in scaling_groups.SCALING_TYPE_ALIASES:
        return scaling_groups.template_resource(spec)
    reads = [{"get_attr": [name, "address"]} for name in spec.reads]
    more: dict[str, Json] = {"depends_on": list(spec.after)} if spec.after else {}
    if spec.retain:
        more["deletion_policy"] = "retain"
    if spec.type_alias == NESTED_STACK:
        properties = {"given": reads} if reads else {}
        return {"type": f"{prefix}{spec.name}.yaml", "properties": properties, **more}
    # The source comes from the environment, as after a restore.
    properties = {
        name: getattr(spec, name) for name in template_notation.PROPERTY_NAMES if name != "source"
    }
    if spec.refs:
        properties["refs"] = [{"get_resource": name} for name in spec.refs]
    if reads:
        properties["reads"] = reads
    return {"type": TYPE_NAMES[spec.type_alias], "properties": properties, **more}


def _shown(spec: ResourceSpec) -> ResourceSpec | None:
    return _shown_in(spec.nested_template)


def _shown_in(template: TemplateSpec) -> ResourceSpec | None:
    """Whose address the stack shows as its own."""
    things = (template[name] for name in sorted(template))
    return next((spec for spec in things if spec.type_alias in ("Thing", "Rock")), None)


# -- by chance ----------------------------------------------------------------

_HOOKS = ("pre-create", "post-create", "pre-update", "post-update", "pre-delete", "post-delete")


class TreeBuilder:
    """Makes trees of flat templates: the same names become nests or groups, and have the
    same hooks, in every template of a history.  Every fleet of a root has two levers.
    What ``more`` decides came later: other parts of seeds' histories are as they were."""

    def __init__(self, rng: random.Random, more: random.Random) -> None:
        self.nested_names = frozenset(name for name in "abcdef" if rng.random() < 0.5)
        self.two_levels = rng.random() < 0.5
        hooked = rng.random() < 0.7
        self.hooks = {
            path: (rng.choice(_HOOKS),)
            for path in [*"abcdef", *(f"{name}.{inner}" for name in "abcdef" for inner in "xy")]
            if hooked and rng.random() < 0.25
        }
        others = [name for name in "abcdef" if name not in self.nested_names]
        grouped = rng.random() < 0.5
        self.group_aliases = {
            name: rng.choice((RESOURCE_GROUP, SCALING_GROUP))
            for name in others
            if grouped and rng.random() < 0.5
        }
        for name, kind in self.group_aliases.items():
            self.group_aliases[name] = (
                RESOURCE_CHAIN if kind == RESOURCE_GROUP and more.random() < 0.4 else kind
            )
        inside = more.random() < 0.5
        self.nested_groups = {
            name: more.choice((RESOURCE_GROUP, RESOURCE_CHAIN, SCALING_GROUP))
            for name in sorted(self.nested_names)
            if inside and more.random() < 0.6
        }
        self.batch = rng.choice((0, 1, 2))
        self.cooldown = rng.choice((0, 10))

    @property
    def scaling_policies(self) -> dict[str, ResourceSpec]:
        """By name; those of fleets that a template has not go without saying."""
        return {
            f"{way}{name}": ResourceSpec(f"{way}{name}", SCALING_POLICY, of=name, by=by)
            for name, kind in sorted(self.group_aliases.items())
            if kind == SCALING_GROUP
            for way, by in (("up", 2), ("down", -1))
        }

    def build(self, template: TemplateSpec) -> dict[str, ResourceSpec]:
        things = {name for name, spec in template.items() if spec.type_alias == "Thing"}
        nests, groups = things & self.nested_names, things & self.group_aliases.keys()
        found = {name: self._changed(spec, nests, groups) for name, spec in template.items()}
        levers = self.scaling_policies.items()
        return found | {name: lever for name, lever in levers if lever.of in groups}

    def _changed(self, spec: ResourceSpec, nests: set[str], groups: set[str]) -> ResourceSpec:
        hooks = self.hooks.get(spec.name, ())
        later = [name for name in spec.refs if name in nests | groups]
        later += [name for name in spec.reads if name in groups]
        spec = replace(
            spec,
            hooks=hooks,
            refs=tuple(name for name in spec.refs if name not in nests | groups),
            reads=tuple(name for name in spec.reads if name not in groups),
            after=(*spec.after, *later),
        )
        if spec.name in groups:
            return self._group(spec, self.group_aliases[spec.name])
        if spec.name not in nests:
            return spec
        inner = list(self._inner(spec))
        return ResourceSpec(
            spec.name,
            NESTED_STACK,
            reads=spec.reads,
            after=tuple(dict.fromkeys((*spec.after, *spec.refs))),
            hooks=hooks,
            retain=spec.retain,
            nested_specs=tuple(inner),
        )

    def _group(self, spec: ResourceSpec, kind: str) -> ResourceSpec:
        return ResourceSpec(
            spec.name,
            kind,
            size=spec.size,
            flavor=spec.flavor,
            after=tuple(sorted(spec.requires)),
            hooks=spec.hooks,
            retain=spec.retain,
            batch=0 if kind == RESOURCE_CHAIN else self.batch,
            cooldown=self.cooldown if kind == SCALING_GROUP else 0,
        )

    def _inner(self, spec: ResourceSpec) -> Iterator[ResourceSpec]:
        def hooks(name: str) -> tuple[str, ...]:
            return self.hooks.get(f"{spec.name}.{name}", ())

        yield ResourceSpec("x", size=spec.size, flavor=spec.flavor, hooks=hooks("x"))
        yield ResourceSpec("y", grip=spec.grip, reads=("x",), hooks=hooks("y"))
        if spec.name in self.nested_groups:
            group = ResourceSpec("g", size=spec.size, flavor=spec.flavor, after=("y",))
            yield self._group(group, self.nested_groups[spec.name])
        if self.two_levels and spec.size == 2:
            yield ResourceSpec(
                "z", NESTED_STACK, reads=("y",), nested_specs=(ResourceSpec("w", size=spec.grip),)
            )
