"""The resources of a template that an update has to look at, by the texts of both templates.

Called by ``changed_part`` before anything is evaluated.  Decides by strings that are names of
resources, which are more than the references: a name too many costs time, one too few would
leave a resource as it was.  Must not know types, environments or rows.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from heat_convergence.template.evaluation_budget import (
    STEPS_PER_DEPENDENCY,
    STEPS_PER_NODE,
    STEPS_PER_RESOURCE,
)

Json = Any
Snippets = Mapping[str, Json]  # resource name → its map in the template
# The functions that name a resource, and one whose texts become names only by evaluation.
_REFERENCES = frozenset({"get_resource", "get_attr", "Ref", "Fn::GetAtt"})
_COMPUTING = frozenset({"repeat"})
_ABSENT = object()


@dataclass(frozen=True, slots=True)
class SelectedPart:
    """The resources that an update has to look at.

    Attributes:
        changing: names of those that the update adds, changes or removes, and of what may refer
            to one of them.  All others keep what they have.
        names: these, with all that they and the outputs require.
        steps: what the evaluation of all resources takes, apart from functions.
    """

    changing: frozenset[str]
    names: frozenset[str]
    steps: int


@dataclass(frozen=True, slots=True)
class TypeRules:
    """The types of resources, and what they require without a reference.

    Attributes:
        implementations: type → what implements it.
        implicit: implementation → implementations that its resources may require.
        functions: names of functions whose references cannot be seen in the text.
    """

    implementations: Mapping[str, str]
    implicit: Mapping[str, frozenset[str]] = field(default_factory=dict)
    functions: frozenset[str] = frozenset()


def select_part(
    before: Snippets, after: Snippets, outputs: Json, rules: TypeRules, type_key: str = "type"
) -> SelectedPart:
    """Select the resources to look at.

    Args:
        before: the resources of the replaced template.
        after: those of the new one.
        outputs: the outputs of the new one.
        rules: the types of both templates.
        type_key: the key of a resource's type.
    """
    names = before.keys() | after.keys()
    read = {name: _read(raw, names, rules.functions) for name, raw in after.items()}
    edited = {name for name in names if _differs(name, before, after, read)}
    types = _TypeIndex(before, after, rules, type_key)
    references = {name: each.names for name, each in read.items() if each.names}
    users = _reversed(references)
    changing = set[str]()
    if edited:
        edited |= {name for name, each in read.items() if each.is_computed}
        changing = _closure(edited, users)
        changing = _grow(changing, lambda now: _closure(types.requiring(now), users))
    dropped = [_read(before[name], names, rules.functions) for name in edited & before.keys()]
    needed = changing.union(*(each.names for each in dropped))
    needed |= _read(outputs, names, rules.functions).names
    if any(each.is_computed for each in dropped):
        needed |= names  # any of them may have been required
    needed = _closure(needed, references)
    needed = _grow(needed, lambda now: _closure(types.required_by(now), references))
    return SelectedPart(
        frozenset(changing), frozenset(needed), sum(each.steps for each in read.values())
    )


def _differs(name: str, before: Snippets, after: Snippets, read: Mapping[str, _Reading]) -> bool:
    """Return whether a resource is not in both templates with the same text.

    Python takes 1, 1.0 and true for equal, a template does not.
    """
    old, new = before.get(name, _ABSENT), after.get(name, _ABSENT)
    if old != new:
        return True
    return read[name].has_numbers and json.dumps(old) != json.dumps(new)


@dataclass(frozen=True, slots=True)
class _Reading:
    """The findings about the text of a resource before it is evaluated.

    Attributes:
        names: the names of resources in it.
        has_numbers: it has a number or a truth value.
        is_computed: it may refer to resources that it does not name.
    """

    names: frozenset[str]
    steps: int
    has_numbers: bool
    is_computed: bool


_NO_NAMES: frozenset[str] = frozenset()


def _read(raw: Json, names: Collection[str], functions: Collection[str]) -> _Reading:
    """Read the text of a resource, or the outputs."""
    found, nodes, has_numbers, is_computed = set[str](), 0, False, False
    pending = [raw]
    while pending:
        node = pending.pop()
        nodes += 1
        if type(node) is str:  # the document is plain JSON
            if node in names:
                found.add(node)
        elif type(node) is dict:
            pending.extend(node.values())
            if len(node) == 1 and not is_computed:
                is_computed = _hides_references(node, functions)
        elif isinstance(node, list):
            pending.extend(node)
        elif node is not None:
            has_numbers = True
    steps = STEPS_PER_RESOURCE + STEPS_PER_NODE * nodes + STEPS_PER_DEPENDENCY * len(found)
    return _Reading(frozenset(found) if found else _NO_NAMES, steps, has_numbers, is_computed)


def _hides_references(node: Mapping[str, Json], functions: Collection[str]) -> bool:
    """Return whether a map of one entry may be a call without the name of its resource."""
    ((key, value),) = node.items()
    if key in _COMPUTING or key in functions:
        return True
    first = value[0] if isinstance(value, list) and value else value
    return key in _REFERENCES and not isinstance(first, str)


class _TypeIndex:
    """The resources of both templates by their implementations, if any rule needs them."""

    def __init__(self, before: Snippets, after: Snippets, rules: TypeRules, type_key: str) -> None:
        self._implicit = rules.implicit
        self._types: dict[str, set[str]] = {}
        self._names: dict[str, set[str]] = {}
        for snippets in (before, after) if rules.implicit else ():
            for name, raw in snippets.items():
                found = rules.implementations[raw[type_key]]
                self._types.setdefault(name, set()).add(found)
                self._names.setdefault(found, set()).add(name)

    def requiring(self, names: Iterable[str]) -> set[str]:
        """Return the resources that may require one of these without a reference."""
        types = self._types_of(names)
        users = (user for user, used in self._implicit.items() if not used.isdisjoint(types))
        return self._of_types(users)

    def required_by(self, names: Iterable[str]) -> set[str]:
        """Return the resources that one of these may require without a reference."""
        users = self._types_of(names) & self._implicit.keys()
        return self._of_types(used for user in users for used in self._implicit[user])

    def _types_of(self, names: Iterable[str]) -> set[str]:
        if not self._implicit:
            return set()
        return {each for name in names for each in self._types.get(name, ())}

    def _of_types(self, types: Iterable[str]) -> set[str]:
        return {name for each in types for name in self._names.get(each, ())}


def _grow(names: set[str], following: Callable[[set[str]], set[str]]) -> set[str]:
    """Return the names with all that follow from them, and from these again."""
    while not (more := following(names)) <= names:
        names = names | more
    return names


def _closure(start: Iterable[str], edges: Mapping[str, Collection[str]]) -> set[str]:
    """Return the start and all that can be reached from it."""
    found = set(start)
    pending = list(found)
    while pending:
        for other in edges.get(pending.pop(), ()):
            if other not in found:
                found.add(other)
                pending.append(other)
    return found


def _reversed(edges: Mapping[str, Iterable[str]]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for name, others in edges.items():
        for other in others:
            found.setdefault(other, []).append(name)
    return found


def find_named(values: Iterable[Json], names: Iterable[str]) -> frozenset[str]:
    """Return the names of resources among the strings of other parts of a goal."""
    known = frozenset(names)
    return frozenset().union(*(_read(value, known, ()).names for value in values))
