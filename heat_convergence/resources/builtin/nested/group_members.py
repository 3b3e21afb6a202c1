"""The definitions of a resource group's numbered members.

Used by ``resource_group``.  Decides where a member's number stands, and refuses members that no
template could hold.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from heat_convergence.common.errors import RequestLimitExceeded
from heat_convergence.template.limits import DEFAULT_LIMITS

Json = Any
DEFAULT_INDEX_VAR = "%index%"


class MemberTemplate:
    """The definition of a group's members.

    Properties without the number are the same object in all members: it may be a long one.
    """

    def __init__(self, properties: Mapping[str, Json]) -> None:
        definition = properties.get("resource_def")
        self._definition = definition if isinstance(definition, Mapping) else {}
        mark = properties.get("index_var")
        self._mark = mark if isinstance(mark, str) and mark else DEFAULT_INDEX_VAR
        self._properties = self._definition.get("properties")
        values = self._properties if isinstance(self._properties, Mapping) else {}
        self._marked = {
            name: value for name, value in values.items() if _has_mark(value, self._mark)
        }

    def definition(self, name: str) -> dict[str, Json]:
        """Return a member's definition with its number; null properties are dropped."""
        found: dict[str, Json] = {"type": self._definition.get("type")}
        if isinstance(self._properties, Mapping):
            found["properties"] = {
                key: _numbered(value, self._mark, name) if key in self._marked else value
                for key, value in self._properties.items()
                if value is not None
            }
        elif self._properties is not None:
            found["properties"] = self._properties  # an expression, not known yet
        if self._definition.get("metadata"):
            found["metadata"] = self._definition["metadata"]
        return found

    def check_count(self, count: int) -> None:
        """Refuse members that together have more parts than a template may have.

        Raises:
            RequestLimitExceeded: There are too many, of that size.
        """
        size = 1 + sum(map(_count_nodes, self._marked.values()))
        if count * size > DEFAULT_LIMITS.max_nodes:
            raise RequestLimitExceeded(
                f"The template of {count} members with {size} nodes each has more than"
                f" {DEFAULT_LIMITS.max_nodes} nodes"
            )


def member_definition(properties: Mapping[str, Json], name: str) -> dict[str, Json]:
    """Return a member's definition with its number; null properties are dropped."""
    return MemberTemplate(properties).definition(name)


def _has_mark(value: Json, mark: str) -> bool:
    if isinstance(value, str):
        return mark in value
    if isinstance(value, Mapping):
        return any(_has_mark(item, mark) for item in value.values())
    return isinstance(value, list | tuple) and any(_has_mark(item, mark) for item in value)


def _count_nodes(value: Json) -> int:
    if isinstance(value, Mapping):
        return 1 + sum(map(_count_nodes, value.values()))
    return 1 + sum(map(_count_nodes, value)) if isinstance(value, list | tuple) else 1


def _numbered(value: Json, mark: str, name: str) -> Json:
    if isinstance(value, str):
        return value.replace(mark, name)
    if isinstance(value, Mapping):
        return {key: _numbered(item, mark, name) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_numbered(item, mark, name) for item in value]
    return value
