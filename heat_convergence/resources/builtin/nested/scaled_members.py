"""Members of scaling groups: their order, their names, and what a new size makes of them.

Called by scaling groups for every template of their nested stack, so that a step that is repeated
after a crash has the same result. Pure functions.

Source: docs/reference/resource-groups.rst.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from heat_convergence.convergence.model.action import Status
from heat_convergence.convergence.model.resource import ADOPTED_STACK, Resource
from heat_convergence.resources.nested.nested_type import NestedStackRequest

Json = Any
NAME_COUNT = "named"  # key of a group's data: the number of names assigned so far
_NAME_LENGTH = 12


@dataclass(frozen=True, slots=True)
class OrderedMembers:
    """Definitions in order of removal, failed members first, then the oldest.

    ``working`` is the number of members that have not failed.
    """

    present: Mapping[str, Json]
    working: int


def adopted_names(request: NestedStackRequest) -> list[str]:
    """Return the names of members of a group that is being adopted.

    They keep their names, because others would be created under new names.
    """
    document = request.data.get(ADOPTED_STACK)
    if request.load_template() is not None or not isinstance(document, Mapping):
        return []
    return sorted(document.get("resources") or {})


def order_members(definitions: Mapping[str, Json], rows: Sequence[Resource]) -> OrderedMembers:
    """Return the definitions in order of removal."""
    known = {row.name: row for row in rows}
    failed = {name for name, row in known.items() if row.state.status is Status.FAILED}

    def place(name: str) -> tuple[Any, ...]:
        """Return the sort key of a member."""
        at = known[name].identity.created_at.timestamp() if name in known else float("inf")
        return (name not in failed, at, name)

    names = sorted(definitions, key=place)
    present = {name: definitions[name] for name in names}
    return OrderedMembers(present, len(definitions.keys() - failed))


def resize_members(
    old: Mapping[str, Json], definition: Json, size: int, names: MemberNames
) -> dict[str, Json]:
    """Return the members at another size: the first ones leave, new ones follow the last."""
    kept = dict(list(old.items())[max(len(old) - size, 0) :])
    added = [names.next() for _ in range(size - len(kept))]
    return {**kept, **dict.fromkeys(added, definition)}


class MemberNames:
    """Names of new members.

    They are unique, and the same again for a step that is repeated after a crash.
    """

    def __init__(self, request: NestedStackRequest) -> None:
        """Continue after the names that the group's data counts."""
        self.assigned = int(request.data.get(NAME_COUNT) or 0)
        self._seed = request.random_seed

    def next(self) -> str:
        """Return another name."""
        digest = hashlib.sha256(f"{self._seed} {self.assigned}".encode()).digest()
        self.assigned += 1
        return base64.b32encode(digest).decode("ascii").lower()[:_NAME_LENGTH]
