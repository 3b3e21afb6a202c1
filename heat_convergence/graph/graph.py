"""An immutable directed graph of what needs what.

Decides order, leaves and rings.  Called by the template (dependencies of
definitions) and by the planner (traversals).  Must not know what its nodes
stand for.
"""

from __future__ import annotations

import heapq
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any, Generic, Protocol, TypeVar


class Sortable(Protocol):
    """What a node must be: hashable, and ordered among its like."""

    def __hash__(self) -> int: ...
    def __lt__(self, other: Any, /) -> bool: ...


Node = TypeVar("Node", bound=Sortable)


class Graph(Generic[Node]):
    """Nodes and the nodes that each requires.

    Every operation takes linear time (``order`` a logarithm more, for the sake of
    a fixed answer) and none recurses, so that a chain of 50,000 is no different
    from any other shape.
    """

    __slots__ = ("_needed_by", "_requires")

    def __init__(self, requires: Mapping[Node, frozenset[Node]]) -> None:
        needed_by: dict[Node, set[Node]] = {node: set() for node in requires}
        for node, required in requires.items():
            for other in required:
                needed_by[other].add(node)
        self._requires = dict(requires)
        self._needed_by = {node: frozenset(users) for node, users in needed_by.items()}

    @classmethod
    def from_requirements(cls, requirements: Mapping[Node, Iterable[Node]]) -> Graph[Node]:
        """A node that only appears as a requirement is a node too, requiring nothing."""
        requires = {node: frozenset(needed) for node, needed in requirements.items()}
        for needed in tuple(requires.values()):
            for node in needed:
                requires.setdefault(node, frozenset())
        return cls(requires)

    def __len__(self) -> int:
        return len(self._requires)

    def __contains__(self, node: object) -> bool:
        return node in self._requires

    def __iter__(self) -> Iterator[Node]:
        return iter(sorted(self._requires))

    def requires(self, node: Node) -> frozenset[Node]:
        """What must be ready before the node."""
        return self._requires[node]

    def needed_by(self, node: Node) -> frozenset[Node]:
        """What waits for the node."""
        return self._needed_by[node]

    def leaves(self) -> tuple[Node, ...]:
        """Nodes that require nothing, sorted."""
        return tuple(sorted(node for node, needed in self._requires.items() if not needed))

    def reversed(self) -> Graph[Node]:
        """The same nodes, every edge turned round: the order of deleting."""
        return Graph(self._needed_by)

    def topological_order(self) -> tuple[Node, ...]:
        """All nodes, each after what it requires; the smallest first where free.

        Nodes in a ring, and those that need one, are left out: ask ``cycle``.
        """
        missing = {node: len(needed) for node, needed in self._requires.items()}
        ready = list(self.leaves())  # sorted, hence a heap
        ordered: list[Node] = []
        while ready:
            node = heapq.heappop(ready)
            ordered.append(node)
            for user in self._needed_by[node]:
                missing[user] -= 1
                if not missing[user]:
                    heapq.heappush(ready, user)
        return tuple(ordered)

    def find_cycle(self) -> tuple[Node, ...] | None:
        """One ring, in order: each requires the next, the last the first."""
        settled = set(self.topological_order())
        start = min((node for node in self._requires if node not in settled), default=None)
        if start is None:
            return None
        # What is left has, each, something left that it requires: walking on must
        # come back to a node that was passed.
        path: dict[Node, int] = {}
        node = start
        while node not in path:
            path[node] = len(path)
            node = min(other for other in self._requires[node] if other not in settled)
        ring = list(path)[path[node] :]
        first = ring.index(min(ring))
        return tuple(ring[first:] + ring[:first])

    def with_dependents(self, start: Collection[Node]) -> frozenset[Node]:
        """The given nodes and everything that needs them, near or far."""
        seen = set(start)
        pending = list(start)
        while pending:
            for user in self._needed_by[pending.pop()]:
                if user not in seen:
                    seen.add(user)
                    pending.append(user)
        return frozenset(seen)

    def to_dot(self, name: str = "resources") -> str:
        """Graphviz text; an arrow points from what is needed to what needs it."""
        lines = [f"digraph {_quoted(name)} {{"]
        for node in self:
            lines.append(f"  {_quoted(str(node))};")
            lines += [
                f"  {_quoted(str(needed))} -> {_quoted(str(node))};"
                for needed in sorted(self._requires[node])
            ]
        return "\n".join([*lines, "}"]) + "\n"


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'
