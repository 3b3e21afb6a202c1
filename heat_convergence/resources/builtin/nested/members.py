"""What groups have in common: a template made of members, and attributes over them.

Decides how member definitions become a template and how ``refs``, ``attributes`` and
members' attributes are read.  Source: heat-facts ``resource_groups.md``.
"""

from __future__ import annotations

import json
from abc import abstractmethod
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from heat_convergence.resources.nesting.kinds import (
    INNER,
    READS,
    Ask,
    Behind,
    NestedType,
    Read,
    normal,
    read_key,
)
from heat_convergence.template.expression import Expression, is_known

Json = Any
VERSION = "2015-04-30"
REFS, REFS_MAP, ATTRIBUTES = "refs", "refs_map", "attributes"


class Group(NestedType):
    """Members of a stack that are alike."""

    whole: frozenset[str] = frozenset({REFS, REFS_MAP, ATTRIBUTES})  # of all members

    @abstractmethod
    def ordered(self, behind: Behind, names: Sequence[str]) -> list[str]:
        """The members in the order in which lists show them."""

    def member_named(self, part: str, names: Sequence[str]) -> str:
        """The member that ``resource.PART`` means."""
        return part

    def read(self, behind: Behind, reads: Collection[Read]) -> dict[str, Json]:
        names = self.ordered(behind, behind.names())
        inputs = behind.inputs(names)
        refs = {name: inputs.reference_id(name) for name in names if name in inputs.rows}
        recorded = {
            read_key(read): self._value(behind, names, read)
            for read in reads
            if read[0] not in self.whole or read[0] == ATTRIBUTES
        }
        return {
            REFS: [refs.get(name) for name in names],
            REFS_MAP: refs,
            **self.facts(behind, names),
            READS: recorded,
        }

    def facts(self, behind: Behind, names: Sequence[str]) -> dict[str, Json]:
        """Further attributes of the group itself."""
        return {}

    def _value(self, behind: Behind, names: Sequence[str], read: Read) -> Json:
        name, *path = read
        if name.startswith(INNER):
            return behind.inner(self.member_named(name.removeprefix(INNER), names), path)
        if name == ATTRIBUTES:
            return {each: behind.inner(each, path) for each in names} if path else None
        return [behind.inner(each, read) for each in names]

    def passes_on(
        self, reads: Collection[Read], members: Collection[str]
    ) -> dict[str, set[Read]]:
        found: dict[str, set[Read]] = {}
        for read in reads:
            name, *path = read
            below = normal(path[0], path[1:]) if path else None
            if name.startswith(INNER):
                part = self.member_named(name.removeprefix(INNER), list(members))
                if below is not None:
                    found.setdefault(part, set()).add(below)
                continue
            if name not in self.whole:
                below = normal(name, path)
            elif name != ATTRIBUTES:
                continue
            if below is not None:
                for each in members:
                    found.setdefault(each, set()).add(below)
        return found


def template_text(members: Mapping[str, Json]) -> str:
    """The template with these definitions by name."""
    return json.dumps(
        {"heat_template_version": VERSION, "resources": dict(members)}, ensure_ascii=False
    )


def current_members(ask: Ask) -> dict[str, Json]:
    """The definitions of the stack as it was last given."""
    template = ask.current()
    if template is None:
        return {}
    section = template.section(template.version.dialect.resources)
    return dict(section) if isinstance(section, dict) else {}


def known_only(value: Json) -> Json:
    """Without what is not known yet: members of maps left out, others null."""
    if is_known(value):
        return value
    if isinstance(value, Expression):
        return None
    if isinstance(value, Mapping):
        kept = {name: known_only(item) for name, item in value.items()}
        return {name: item for name, item in kept.items() if item is not None}
    return [known_only(item) for item in value]
