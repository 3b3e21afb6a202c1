"""Templates of the simulated world: a few words for each resource.

Decides how such a template is written, what definitions it stands for and what
properties reality must have for it.  Used by the simulator in the place of the
template language; knows no rows.

    b: Thing size=2 flavor=red refs=a reads=a after=c retain

A template without any is written ``{}``.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from heat_convergence.convergence.document import is_stack, resources_of
from heat_convergence.convergence.model import SavedStack
from heat_convergence.convergence.traversal import want
from heat_convergence.convergence.wanted import Wanted
from heat_convergence.resources.registry import Registry
from heat_convergence.template.definition import Definition
from heat_convergence.template.expression import Expression

TYPES = {"Thing": "Sim::Thing", "Rock": "Sim::Rock", "Bell": "Sim::Bell"}
NEST = "Nest"  # a stack is behind it: see ``testing.trees``
GROUP, CHAIN, FLEET, LEVER = "Group", "Chain", "Fleet", "Lever"  # see ``testing.fleets``
BEHIND = frozenset({NEST, GROUP, CHAIN, FLEET})  # kinds that a stack is behind
PLAIN = ("size", "grip", "flavor", "source")
EMPTY = "{}"


@dataclass(frozen=True, slots=True)
class Spec:
    """One resource: ``size`` changes in place, ``grip`` as the type likes,
    ``flavor`` never; ``refs`` take others' ids, ``reads`` their addresses."""

    name: str
    kind: str = "Thing"
    size: int = 1
    grip: int = 1
    flavor: str = "plain"
    source: str = ""  # the id of a copy that it was brought back from
    refs: tuple[str, ...] = ()
    reads: tuple[str, ...] = ()
    after: tuple[str, ...] = ()
    retain: bool = False
    keep: bool = False  # a copy is to be saved before it is deleted
    hooks: tuple[str, ...] = ()
    inner: tuple[Spec, ...] = ()  # of a nest
    batch: int = 0  # members of a group that change at once
    cooldown: int = 0  # of a fleet, seconds
    of: str = ""  # the fleet that a lever scales, by so many members:
    by: int = 0

    @property
    def inside(self) -> Template:
        """The template of the stack behind a nest."""
        return {spec.name: spec for spec in self.inner}

    @property
    def needs(self) -> frozenset[str]:
        of = (self.of,) if self.of else ()
        return frozenset((*self.refs, *self.reads, *self.after, *of))

    def __str__(self) -> str:
        words = [f"{self.name}: {self.kind}"]
        for name in (*_NUMBERS, *_WORDS):
            if getattr(self, name) != getattr(_PLAIN, name):
                words.append(f"{name}={getattr(self, name)}")
        for name in ("refs", "reads", "after", "hooks"):
            if getattr(self, name):
                words.append(f"{name}={','.join(getattr(self, name))}")
        words += [word for word in ("retain", "keep") if getattr(self, word)]
        inner = [line for spec in self.inner for line in str(spec).splitlines()]
        return "\n".join([" ".join(words), *(f"{self.name}.{line}" for line in inner)])


_NUMBERS = ("size", "grip", "batch", "cooldown", "by")
_WORDS = ("flavor", "source", "of")
_PLAIN = Spec("")
Template = Mapping[str, Spec]


def parse(text: str) -> dict[str, Spec]:
    """The template of a text; raises ``ValueError`` with the line that is wrong.  That
    of a nested stack has it as its description."""
    if text.startswith("{") and text.strip() != EMPTY:
        data = json.loads(text)
        if "description" not in data:
            return _members(data)
        text = data["description"]
    template: dict[str, Spec] = {}
    lines = [line.strip() for line in text.splitlines() if line.strip() not in ("", EMPTY)]
    inner: dict[str, list[str]] = {}
    for line in lines:
        if "." in line.partition(":")[0]:
            name, _dot, rest = line.partition(".")
            inner.setdefault(name, []).append(rest)
            continue
        spec = _parse_line(line)
        if spec.name in template:
            raise ValueError(f"{spec.name} is there twice")
        template[spec.name] = spec
    for name, body in inner.items():
        if name not in template or template[name].kind != NEST:
            raise ValueError(f"{name} is no nest")
        below = parse("\n".join(body))
        template[name] = replace(template[name], inner=tuple(below.values()))
    for spec in template.values():
        missing = spec.needs - template.keys()
        if missing:
            raise ValueError(f"{spec.name} needs {sorted(missing)}, which are not there")
    return template


def _members(data: Mapping[str, Any]) -> dict[str, Spec]:
    """Of the stack behind a group, whose template its type has written."""
    return {
        name: Spec(name, "Thing", **entry["properties"])
        for name, entry in data.get("resources", {}).items()
    }


def _parse_line(line: str) -> Spec:
    name, _colon, rest = line.partition(":")
    kind, *words = rest.split()
    if kind not in TYPES and kind not in {*BEHIND, LEVER}:
        raise ValueError(f"no such type: {line}")
    spec = Spec(name, kind)
    for word in words:
        key, _equals, value = word.partition("=")
        if key in _NUMBERS:
            spec = replace(spec, **{key: int(value)})
        elif key in _WORDS:
            spec = replace(spec, **{key: value})
        elif key in ("refs", "reads", "after", "hooks"):
            spec = replace(spec, **{key: tuple(value.split(","))})
        elif word in ("retain", "keep"):
            spec = replace(spec, **{word: True})
        else:
            raise ValueError(f"not understood: {word} in {line}")
    return spec


def text_of(template: Template) -> str:
    return "\n".join(str(template[name]) for name in sorted(template)) or EMPTY


def hash_of(template: Template) -> str:
    return hashlib.sha256(text_of(template).encode()).hexdigest()


def wanted(template: Template) -> dict[str, Wanted]:
    """As a traversal takes it."""
    return want({name: _definition(spec) for name, spec in template.items()}, {})


def restored(template: Template, saved: SavedStack, registry: Registry) -> dict[str, Spec]:
    """With what brings back the resources of a snapshot (see ``resources.saved``)."""
    return _restored(template, saved.data, registry)


def _restored(template: Template, data: Any, registry: Registry) -> dict[str, Spec]:
    changed = dict(template)
    for name, entry in resources_of(data):
        spec = changed.get(name)
        if spec is None:
            continue
        if is_stack(entry):
            inner = _restored(spec.inside, entry, registry)
            changed[name] = replace(spec, inner=tuple(inner.values()))
        elif spec.kind != NEST:
            given = registry.get(entry["type"]).restored(entry["resource_data"])
            changed[name] = replace(spec, **given)
    return changed


def handed_down(document: Mapping[str, Any], path: str = "") -> Iterator[tuple[str, Any]]:
    """Path and entry of every resource of a tree's document that no stack is behind."""
    for name, entry in resources_of(document):
        if is_stack(entry):
            yield from handed_down(entry, f"{path}{name}.")
        else:
            yield f"{path}{name}", entry


def left_unfinished(document: Mapping[str, Any], path: str = "") -> Iterator[str]:
    """Paths of the stacks below that were in the middle of something, or had failed."""
    for name, entry in resources_of(document):
        if is_stack(entry):
            if entry["status"] != "COMPLETE":
                yield f"{path}{name}"
            yield from left_unfinished(entry, f"{path}{name}.")


def _definition(spec: Spec) -> Definition:
    draws_on = frozenset((*spec.refs, *spec.reads))
    properties: dict[str, Any] = {name: getattr(spec, name) for name in PLAIN}
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
        deletion_policy=policy(spec),
        requires=spec.needs,
        draws_on=draws_on,
    )


def policy(spec: Spec) -> str:
    """What is to become of reality when the resource goes."""
    if spec.retain:
        return "Retain"
    return "Snapshot" if spec.keep else "Delete"


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
            "source": spec.source,
            "refs": [id_of(other) for other in spec.refs],
            "reads": [address(id_of(other), template[other].size) for other in spec.reads],
        }
    return known


def address(physical_id: str | None, size: int) -> str:
    """The attribute that others read: another one after each change of size."""
    return f"{physical_id}/{size}"
