"""Templates that users of the simulated world think of, by chance.

Used by ``testing.lives``.  Everything is drawn from the given generator.
"""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import replace

from heat_convergence.testing.simulation.workload.template_notation import ResourceSpec

RESOURCE_NAMES = "abcdefgh"
_KINDS = ("Thing",) * 7 + ("Rock",) * 2 + ("Bell",)


def initial_template(rng: random.Random) -> dict[str, ResourceSpec]:
    """A template to begin with."""
    template: dict[str, ResourceSpec] = {}
    for name in RESOURCE_NAMES[: rng.randint(1, 6)]:
        template[name] = _wired(rng, _spec(rng, name), template)
    return template


def _spec(rng: random.Random, name: str) -> ResourceSpec:
    return ResourceSpec(
        name=name,
        type_alias=rng.choice(_KINDS),
        size=rng.randint(1, 3),
        flavor=rng.choice(("plain", "salty")),
        retain=rng.random() < 0.05,
        keep=rng.random() < 0.08,
    )


def _wired(
    rng: random.Random, spec: ResourceSpec, others: Mapping[str, ResourceSpec]
) -> ResourceSpec:
    """With needs among the others, so that there is no ring."""
    uses: dict[str, list[str]] = {"refs": [], "reads": [], "after": []}
    for name in sorted(others):
        if rng.random() < 0.35:
            uses[rng.choice(("refs", "reads", "after"))].append(name)
    return replace(spec, **{how: tuple(names) for how, names in uses.items()})


def changed_template(
    rng: random.Random, template: Mapping[str, ResourceSpec]
) -> dict[str, ResourceSpec]:
    """Another template: changed properties, fewer and more resources, other needs."""
    changed = dict(template)
    for _ in range(rng.randint(0, 3)):
        name = rng.choice(RESOURCE_NAMES[:6])
        if name in changed and rng.random() < 0.3:
            del changed[name]
        elif name in changed:
            changed[name] = _touched(rng, changed[name])
        else:
            changed[name] = _spec(rng, name)
    order = sorted(changed)
    if rng.random() < 0.3:
        rng.shuffle(order)  # dependencies turn round
        return _rewired(rng, changed, order)
    return {
        name: replace(
            spec,
            refs=_still(spec.refs, changed),
            reads=_still(spec.reads, changed),
            after=_still(spec.after, changed),
        )
        for name, spec in changed.items()
    }


def _touched(rng: random.Random, spec: ResourceSpec) -> ResourceSpec:
    what = rng.choice(("size", "size", "grip", "flavor", "type_alias", "retain"))
    if what == "size":
        return replace(spec, size=rng.randint(1, 3))
    if what == "grip":
        return replace(spec, grip=rng.randint(1, 3))
    if what == "flavor":
        return replace(spec, flavor=rng.choice(("plain", "salty", "sweet")))
    if what == "type_alias":
        return replace(spec, type_alias=rng.choice(("Thing", "Rock")))
    return spec


def _rewired(
    rng: random.Random, template: Mapping[str, ResourceSpec], order: list[str]
) -> dict[str, ResourceSpec]:
    wired: dict[str, ResourceSpec] = {}
    for name in order:
        wired[name] = _wired(rng, template[name], wired)
    return wired


def _still(names: tuple[str, ...], template: Mapping[str, ResourceSpec]) -> tuple[str, ...]:
    return tuple(name for name in names if name in template)
