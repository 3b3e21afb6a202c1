"""The resources of a template that an update has to look at, by the texts of both templates.

Called by ``changed_part`` before anything is evaluated.  Decides by strings that are names of
resources, which are more than the references: a name too many costs time, one too few would
leave a resource as it was.  Where a function computes a name, nothing is selected.  Must not know
environments or rows.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from heat_convergence.common.strict_json import encode_json
from heat_convergence.graph.graph import Graph
from heat_convergence.template.evaluation.references import NO_NAMES

Json = Any
Snippets = Mapping[str, Json]  # resource name → its map in the template
# The functions that name a resource, and one whose texts become names only by evaluation.
_REFERENCES = frozenset({"get_resource", "get_attr", "Ref", "Fn::GetAtt"})
_COMPUTING = frozenset({"repeat"})


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
    reader = ReferenceReader(before.keys() | after.keys(), rules.functions)
    known = before.keys()
    edited, read = set(known - after.keys()), dict[str, FoundReferences]()
    for name, raw in after.items():
        text = encode_json(raw)
        # Python takes 1, 1.0 and true for equal, a template does not.
        if name not in known or (before is not after and encode_json(before[name]) != text):
            edited.add(name)
        if reader.may_refer(text):
            read[name] = reader.read(raw)
    shown = reader.read(outputs)
    dropped = [reader.read(before[name]) for name in edited & before.keys()]
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


@dataclass(frozen=True, slots=True)
class FoundReferences:
    """The findings about the text of a resource before it is evaluated.

    Attributes:
        names: the names of resources in it.
        is_computed: it may refer to resources that it does not name.
    """

    names: frozenset[str]
    is_computed: bool


class ReferenceReader:
    """The reader of the resources of two templates, and of outputs."""

    def __init__(self, names: Collection[str], functions: Collection[str]) -> None:
        self._names, self._functions = names, functions
        words = [*names, *functions, *_COMPUTING, *_REFERENCES]
        # Strings with a quote would be split.
        self._words = None if b"\\" in encode_json(words) else {n.encode() for n in words}

    def may_refer(self, text: bytes) -> bool:
        """Return whether the JSON of a resource may have a reference: most have none."""
        return self._words is None or not self._words.isdisjoint(text.split(b'"'))

    def read(self, raw: Json) -> FoundReferences:
        """Read the text of a resource, or the outputs."""
        found, is_computed = set[str](), False
        pending = [raw]
        while pending:
            node = pending.pop()
            if type(node) is str:  # the document is plain JSON
                if node in self._names:
                    found.add(node)
            elif type(node) is dict:
                pending.extend(node.values())
                if len(node) == 1 and not is_computed:
                    is_computed = self._hides_references(node)
            elif isinstance(node, list):
                pending.extend(node)
        return FoundReferences(frozenset(found) if found else NO_NAMES, is_computed)

    def _hides_references(self, node: Mapping[str, Json]) -> bool:
        """Return whether a map of one entry may be a call without the name of its resource."""
        ((key, value),) = node.items()
        if key in _COMPUTING or key in self._functions:
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
