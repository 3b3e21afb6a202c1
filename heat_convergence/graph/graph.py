"""An immutable directed graph of requirements.

Decides order, leaves and cycles.  Called by the template (dependencies of definitions)
and by the planner (traversals).  Must not know what its nodes stand for.
"""

from __future__ import annotations

import heapq
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any, Generic, Protocol, TypeVar


class Sortable(Protocol):
    """The requirements on a node: hashable, and ordered among its peers."""

    def __hash__(self) -> int: ...
    def __lt__(self, other: Any, /) -> bool: ...


Node = TypeVar("Node", bound=Sortable)


class Graph(Generic[Node]):
    """Nodes and the nodes that each requires.

    Every operation takes linear time (``topological_order`` a logarithmic factor more, to be
    deterministic) and none recurses, so that a chain of 50,000 nodes is no special case.
    """

    __slots__ = ("_needed_by", "_requires")

    def __init__(self, requires: Mapping[Node, frozenset[Node]]) -> None:
        users: dict[Node, set[Node]] = {}  # without entries for the many that nothing needs
        for node, required in requires.items():
            for other in required:
                users.setdefault(other, set()).add(node)
        self._requires = dict(requires)
        self._needed_by = {node: frozenset(users.get(node, ())) for node in requires}

    @classmethod
    def from_requirements(cls, requirements: Mapping[Node, Iterable[Node]]) -> Graph[Node]:
        """Build a graph; a node that appears only as a requirement requires nothing itself."""
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
        """Return the nodes that must be ready before this node."""
        return self._requires[node]

    def needed_by(self, node: Node) -> frozenset[Node]:
        """Return the nodes that require this node."""
        return self._needed_by[node]

    def leaves(self) -> tuple[Node, ...]:
        """Return the nodes that require nothing, sorted."""
        return tuple(sorted(node for node, needed in self._requires.items() if not needed))

    def reversed(self) -> Graph[Node]:
        """Return the same nodes with every edge reversed: the order of deletion."""
        return Graph(self._needed_by)

    def topological_order(self) -> tuple[Node, ...]:
        """Return the nodes, each after those it requires; ties go to the smallest node.

        Nodes of a cycle, and those that depend on one, are left out: see ``find_cycle``.
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
        """Return one cycle in order: each node requires the next, the last one the first."""
        settled = set(self.topological_order())
        start = min((node for node in self._requires if node not in settled), default=None)
        if start is None:
            return None
        # Every remaining node requires another remaining node, so that following the
        # requirements must return to a visited node.
        path: dict[Node, int] = {}
        node = start
        while node not in path:
            path[node] = len(path)
            node = min(other for other in self._requires[node] if other not in settled)
        cycle = list(path)[path[node] :]
        first = cycle.index(min(cycle))
        return tuple(cycle[first:] + cycle[:first])

    def with_dependents(self, start: Collection[Node]) -> frozenset[Node]:
        """Return the start nodes and everything that requires them, directly or indirectly.

        A start node that is not in the graph has no dependents.
        """
        return _reachable(start, self._needed_by)

    def with_requirements(self, start: Collection[Node]) -> frozenset[Node]:
        """Return the start nodes and everything that they require, directly or indirectly.

        A start node that is not in the graph has no requirements.
        """
        return _reachable(start, self._requires)

    def to_dot(self, name: str = "resources") -> str:
        """Return Graphviz text; an arrow points from a required node to its dependent."""
        lines = [f"digraph {_quoted(name)} {{"]
        for node in self:
            lines.append(f"  {_quoted(str(node))};")
            lines += [
                f"  {_quoted(str(needed))} -> {_quoted(str(node))};"
                for needed in sorted(self._requires[node])
            ]
        return "\n".join([*lines, "}"]) + "\n"


def _reachable(
    start: Collection[Node], following: Mapping[Node, Collection[Node]]
) -> frozenset[Node]:
    found = set(start)
    pending = list(start)
    while pending:
        for node in following.get(pending.pop(), ()):
            if node not in found:
                found.add(node)
                pending.append(node)
    return frozenset(found)


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'
