"""The resources of a template that an update has to look at, by the texts of both templates.

Called by ``changed_part`` before anything is evaluated.  Decides by strings that are names of
resources, which are more than the references: a name too many costs time, one too few would
leave a resource as it was.  Where a function computes a name, nothing is selected.  Must not know
environments or rows.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from heat_convergence.graph.graph import Graph
from heat_convergence.template.evaluation.references import NO_NAMES

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
    """

    changing: frozenset[str]
    names: frozenset[str]


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
) -> SelectedPart | None:
    """Select the resources to look at; None if the texts do not tell them from others.

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
    shown = _read(outputs, names, rules.functions)
    dropped = [_read(before[name], names, rules.functions) for name in edited & before.keys()]
    readings = [shown, *dropped, *read.values()] if edited else [shown]
    if any(each.is_computed for each in readings):
        return None
    types = _TypeIndex(before, after, rules, type_key)
    graph = Graph.from_requirements(
        {name: each.names for name, each in read.items() if each.names}
    )
    changing = _grow(
        graph.with_dependents(edited), lambda now: graph.with_dependents(types.requiring(now))
    )
    needed = changing.union(shown.names, *(each.names for each in dropped))
    needed = _grow(
        graph.with_requirements(needed),
        lambda now: graph.with_requirements(types.required_by(now)),
    )
    return SelectedPart(changing, needed)


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
    has_numbers: bool
    is_computed: bool


def _read(raw: Json, names: Collection[str], functions: Collection[str]) -> _Reading:
    """Read the text of a resource, or the outputs."""
    found, has_numbers, is_computed = set[str](), False, False
    pending = [raw]
    while pending:
        node = pending.pop()
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
    return _Reading(frozenset(found) if found else NO_NAMES, has_numbers, is_computed)


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


def _grow(
    names: frozenset[str], following: Callable[[frozenset[str]], frozenset[str]]
) -> frozenset[str]:
    """Return the names with all that follow from them, and from these again."""
    while not (more := following(names)) <= names:
        names |= more
    return names
