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

from heat_convergence.convergence.model import Goal, Stack
from heat_convergence.convergence.ports import Transaction
from heat_convergence.convergence.wanted import Wanted
from heat_convergence.resources.nesting.wanting import DIGEST, READS
from heat_convergence.template.definition import Definition
from heat_convergence.template.expression import Expression
from heat_convergence.template.registry import RESTORED
from heat_convergence.testing import fleets, goals
from heat_convergence.testing.goals import CHAIN, FLEET, GROUP, LEVER, NEST, TYPES, Spec, Template

Json = Any
Ids = Callable[[str], str | None]  # a resource's name → its physical id


def wanted(template: Template) -> dict[str, Wanted]:
    """As a traversal of a root takes it."""
    flat = {name: spec for name, spec in template.items() if spec.kind in TYPES}
    found = goals.wanted(flat)
    for name, spec in template.items():
        if spec.kind == NEST:
            found[name] = _nest(spec, template)
        elif spec.kind in fleets.KINDS:
            found[name] = fleets.wanted(spec)
        found[name] = replace(found[name], guards=tuple(sorted(spec.hooks)))
    return found


def rebuild(tx: Transaction, stack: Stack, goal: Goal) -> Mapping[str, Wanted]:
    """``convergence.rollback.Rebuild``."""
    return wanted(goals.parse(tx.get_contents([goal.template_hash])[goal.template_hash]))


def files(template: Template, prefix: str = "") -> dict[str, str]:
    """The texts behind all nests, by the names that their types have."""
    found = {}
    for name, spec in template.items():
        if spec.kind == NEST:
            path = f"{prefix}{name}."
            found[f"{path}yaml"] = json.dumps(_hot(spec.inside, path), sort_keys=True)
            found.update(files(spec.inside, path))
    return found


def paths(template: Template, prefix: str = "") -> Iterator[str]:
    """Of every thing; members of groups have names that no template has."""
    for name, spec in template.items():
        if spec.kind == NEST:
            yield from paths(spec.inside, f"{prefix}{name}.")
        elif spec.kind in TYPES:
            yield f"{prefix}{name}"


def environment(template: Template) -> dict[str, Json]:
    """What hooks below the root say, and what brings resources there back."""
    return {"resource_registry": {"resources": _hooks(template)}}


def expected(
    template: Template, id_of: Ids, inside: Callable[[str], Ids]
) -> dict[str, Mapping[str, Json] | None]:
    """As ``goals.expected``; of a nest or group only that it is there: null.  ``inside`` gives
    the ids in the stack behind a nest."""
    plain, ids = dict(template), {}
    for name, spec in template.items():
        shown = _shown(spec) if spec.kind == NEST else None
        if shown is not None:
            plain[name] = replace(spec, size=shown.size, refs=(), reads=())
            ids[name] = inside(name)(shown.name)
    known = goals.expected(plain, lambda name: ids.get(name) or id_of(name))
    return {name: known[name] if template[name].kind in TYPES else None for name in template}


def text_inside(template: Template, name: str) -> str:
    """What the goal of the stack behind a nest says."""
    return goals.text_of(template[name].inside)


def _nest(spec: Spec, template: Template) -> Wanted:
    draws_on = frozenset(spec.reads)
    given = [Expression("get_attr", "attr_optional_name", [n, "address"]) for n in spec.reads]
    definition = Definition(
        name=spec.name,
        type=f"{spec.name}.yaml",
        properties={"given": given} if given else {},
        deletion_policy=goals.policy(spec),
        requires=spec.needs,
        draws_on=draws_on,
    )
    made_of = json.dumps([files({spec.name: spec}), _hooks(spec.inside)], sort_keys=True)
    read = any(spec.name in other.reads for other in template.values())
    behind = {
        DIGEST: hashlib.sha256(made_of.encode()).hexdigest(),
        READS: [["address"]] if read else [],
    }
    return Wanted.of(definition, definition.type, behind)


def _hooks(template: Template) -> dict[str, Json]:
    found: dict[str, Json] = {}
    for name, spec in template.items():
        own: dict[str, Json] = {"hooks": list(spec.hooks)} if spec.hooks else {}
        if spec.source:
            own[RESTORED] = {"source": spec.source}
        own.update(_hooks(spec.inside))
        if own:
            found[name] = own
    return found


def _hot(template: Template, prefix: str) -> dict[str, Json]:
    outputs = {}
    shown = _shown_in(template)
    if shown is not None:
        outputs["address"] = {"value": {"get_attr": [shown.name, "address"]}}
    return {
        "heat_template_version": "2021-04-16",
        "description": goals.text_of(template),  # how the watch reads it again
        "parameters": {"given": {"type": "json", "default": []}},
        "resources": {name: _resource(spec, prefix) for name, spec in template.items()},
        "outputs": outputs,
    }


def _resource(spec: Spec, prefix: str) -> dict[str, Json]:
    if spec.kind in fleets.KINDS:
        return fleets.resource(spec)
    reads = [{"get_attr": [name, "address"]} for name in spec.reads]
    more: dict[str, Json] = {"depends_on": list(spec.after)} if spec.after else {}
    if spec.retain:
        more["deletion_policy"] = "retain"
    if spec.kind == NEST:
        properties = {"given": reads} if reads else {}
        return {"type": f"{prefix}{spec.name}.yaml", "properties": properties, **more}
    # The source comes from the environment, as after a restore.
    properties = {name: getattr(spec, name) for name in goals.PLAIN if name != "source"}
    if spec.refs:
        properties["refs"] = [{"get_resource": name} for name in spec.refs]
    if reads:
        properties["reads"] = reads
    return {"type": TYPES[spec.kind], "properties": properties, **more}


def _shown(spec: Spec) -> Spec | None:
    return _shown_in(spec.inside)


def _shown_in(template: Template) -> Spec | None:
    """Whose address the stack shows as its own."""
    things = (template[name] for name in sorted(template))
    return next((spec for spec in things if spec.kind in ("Thing", "Rock")), None)


# -- by chance ----------------------------------------------------------------

_HOOKS = ("pre-create", "post-create", "pre-update", "post-update", "pre-delete", "post-delete")


class Gardener:
    """Makes trees of flat templates: the same names become nests or groups, and have the
    same hooks, in every template of a history.  Every fleet of a root has two levers.
    What ``more`` decides came later: other parts of seeds' histories are as they were."""

    def __init__(self, rng: random.Random, more: random.Random) -> None:
        self.nests = frozenset(name for name in "abcdef" if rng.random() < 0.5)
        self.deep = rng.random() < 0.5
        hooked = rng.random() < 0.7
        self.hooks = {
            path: (rng.choice(_HOOKS),)
            for path in [*"abcdef", *(f"{name}.{inner}" for name in "abcdef" for inner in "xy")]
            if hooked and rng.random() < 0.25
        }
        others = [name for name in "abcdef" if name not in self.nests]
        grouped = rng.random() < 0.5
        self.groups = {
            name: rng.choice((GROUP, FLEET))
            for name in others
            if grouped and rng.random() < 0.5
        }
        for name, kind in self.groups.items():
            self.groups[name] = CHAIN if kind == GROUP and more.random() < 0.4 else kind
        inside = more.random() < 0.5
        self.inside = {
            name: more.choice((GROUP, CHAIN, FLEET))
            for name in sorted(self.nests)
            if inside and more.random() < 0.6
        }
        self.batch = rng.choice((0, 1, 2))
        self.cooldown = rng.choice((0, 10))

    @property
    def levers(self) -> dict[str, Spec]:
        """By name; those of fleets that a template has not go without saying."""
        return {
            f"{way}{name}": Spec(f"{way}{name}", LEVER, of=name, by=by)
            for name, kind in sorted(self.groups.items())
            if kind == FLEET
            for way, by in (("up", 2), ("down", -1))
        }

    def planted(self, template: Template) -> dict[str, Spec]:
        things = {name for name, spec in template.items() if spec.kind == "Thing"}
        nests, groups = things & self.nests, things & self.groups.keys()
        found = {name: self._changed(spec, nests, groups) for name, spec in template.items()}
        levers = self.levers.items()
        return found | {name: lever for name, lever in levers if lever.of in groups}

    def _changed(self, spec: Spec, nests: set[str], groups: set[str]) -> Spec:
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
            return self._group(spec, self.groups[spec.name])
        if spec.name not in nests:
            return spec
        inner = list(self._inner(spec))
        return Spec(
            spec.name,
            NEST,
            reads=spec.reads,
            after=tuple(dict.fromkeys((*spec.after, *spec.refs))),
            hooks=hooks,
            retain=spec.retain,
            inner=tuple(inner),
        )

    def _group(self, spec: Spec, kind: str) -> Spec:
        return Spec(
            spec.name,
            kind,
            size=spec.size,
            flavor=spec.flavor,
            after=tuple(sorted(spec.needs)),
            hooks=spec.hooks,
            retain=spec.retain,
            batch=0 if kind == CHAIN else self.batch,
            cooldown=self.cooldown if kind == FLEET else 0,
        )

    def _inner(self, spec: Spec) -> Iterator[Spec]:
        def hooks(name: str) -> tuple[str, ...]:
            return self.hooks.get(f"{spec.name}.{name}", ())

        yield Spec("x", size=spec.size, flavor=spec.flavor, hooks=hooks("x"))
        yield Spec("y", grip=spec.grip, reads=("x",), hooks=hooks("y"))
        if spec.name in self.inside:
            group = Spec("g", size=spec.size, flavor=spec.flavor, after=("y",))
            yield self._group(group, self.inside[spec.name])
        if self.deep and spec.size == 2:
            yield Spec("z", NEST, reads=("y",), inner=(Spec("w", size=spec.grip),))
