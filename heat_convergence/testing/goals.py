"""Templates of the simulated world: a few words for each resource.

Decides how such a template is written, what definitions it stands for and what
properties reality must have for it.  Used by the simulator in the place of the
template language; knows no rows.

    b: Thing size=2 flavor=red refs=a reads=a after=c retain
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from heat_convergence.convergence.model import Goal, Stack
from heat_convergence.convergence.plan import Wanted
from heat_convergence.convergence.ports import Transaction
from heat_convergence.convergence.traversal import want
from heat_convergence.template.definition import Definition
from heat_convergence.template.expression import Expression

TYPES = {"Thing": "Sim::Thing", "Rock": "Sim::Rock"}


@dataclass(frozen=True, slots=True)
class Spec:
    """One resource: ``size`` changes in place, ``grip`` as the type likes,
    ``flavor`` never; ``refs`` take others' ids, ``reads`` their addresses."""

    name: str
    kind: str = "Thing"
    size: int = 1
    grip: int = 1
    flavor: str = "plain"
    refs: tuple[str, ...] = ()
    reads: tuple[str, ...] = ()
    after: tuple[str, ...] = ()
    retain: bool = False

    @property
    def needs(self) -> frozenset[str]:
        return frozenset((*self.refs, *self.reads, *self.after))

    def __str__(self) -> str:
        words = [f"{self.name}: {self.kind}"]
        for name in ("size", "grip", "flavor"):
            if getattr(self, name) != getattr(_PLAIN, name):
                words.append(f"{name}={getattr(self, name)}")
        for name in ("refs", "reads", "after"):
            if getattr(self, name):
                words.append(f"{name}={','.join(getattr(self, name))}")
        return " ".join([*words, "retain"] if self.retain else words)


_PLAIN = Spec("")
Template = Mapping[str, Spec]


def parse(text: str) -> dict[str, Spec]:
    """The template of a text; raises ``ValueError`` with the line that is wrong."""
    template: dict[str, Spec] = {}
    for line in filter(str.strip, text.splitlines()):
        spec = _parse_line(line.strip())
        if spec.name in template:
            raise ValueError(f"{spec.name} is there twice")
        template[spec.name] = spec
    for spec in template.values():
        missing = spec.needs - template.keys()
        if missing:
            raise ValueError(f"{spec.name} needs {sorted(missing)}, which are not there")
    return template


def _parse_line(line: str) -> Spec:
    name, _colon, rest = line.partition(":")
    kind, *words = rest.split()
    if kind not in TYPES:
        raise ValueError(f"no such type: {line}")
    spec = Spec(name, kind)
    for word in words:
        key, _equals, value = word.partition("=")
        if key in ("size", "grip"):
            spec = replace(spec, **{key: int(value)})
        elif key == "flavor":
            spec = replace(spec, flavor=value)
        elif key in ("refs", "reads", "after"):
            spec = replace(spec, **{key: tuple(value.split(","))})
        elif word == "retain":
            spec = replace(spec, retain=True)
        else:
            raise ValueError(f"not understood: {word} in {line}")
    return spec


def text_of(template: Template) -> str:
    return "\n".join(str(template[name]) for name in sorted(template))


def hash_of(template: Template) -> str:
    return hashlib.sha256(text_of(template).encode()).hexdigest()


def wanted(template: Template) -> dict[str, Wanted]:
    """As a traversal takes it."""
    return want({name: _definition(spec) for name, spec in template.items()}, {})


def rebuild(tx: Transaction, stack: Stack, goal: Goal) -> Mapping[str, Wanted]:
    """``convergence.rollback.Rebuild``."""
    return wanted(parse(tx.get_contents([goal.template_hash])[goal.template_hash]))


def _definition(spec: Spec) -> Definition:
    draws_on = frozenset((*spec.refs, *spec.reads))
    properties: dict[str, Any] = {"size": spec.size, "grip": spec.grip, "flavor": spec.flavor}
    if spec.refs:
        properties["refs"] = [Expression("get_resource", "standard", name) for name in spec.refs]
    if spec.reads:
        properties["reads"] = [
            Expression("get_attr", "attr_optional_name", [name, "address"]) for name in spec.reads
        ]
    return Definition(
        name=spec.name,
        type=TYPES[spec.kind],
        properties=properties,
        deletion_policy="Retain" if spec.retain else "Delete",
        requires=spec.needs,
        draws_on=draws_on,
    )


def expected(
    template: Template, id_of: Callable[[str], str | None]
) -> dict[str, dict[str, Any]]:
    """Name → the properties that reality must have; ``id_of`` a name's physical id."""
    known: dict[str, dict[str, Any]] = {}
    for name, spec in template.items():
        known[name] = {
            "size": spec.size,
            "grip": spec.grip,
            "flavor": spec.flavor,
            "refs": [id_of(other) for other in spec.refs],
            "reads": [address(id_of(other), template[other].size) for other in spec.reads],
        }
    return known


def address(physical_id: str | None, size: int) -> str:
    """The attribute that others read: another one after each change of size."""
    return f"{physical_id}/{size}"
