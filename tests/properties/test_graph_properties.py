"""Order, leaves and cycles of random graphs."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from heat_convergence.graph.graph import Graph

SMALL = st.dictionaries(
    st.integers(0, 8), st.frozensets(st.integers(0, 8), max_size=4), max_size=9
)


@given(SMALL)
def test_order_respects_every_edge_or_there_is_a_cycle(requirements: Any) -> None:
    graph = Graph.from_requirements(requirements)
    order = graph.topological_order()
    position = {node: index for index, node in enumerate(order)}
    assert all(position[need] < position[node] for node in order for need in graph.requires(node))
    assert (graph.find_cycle() is None) == (len(order) == len(graph))


@given(SMALL)
def test_reported_cycle_is_a_cycle(requirements: Any) -> None:
    graph = Graph.from_requirements(requirements)
    cycle = graph.find_cycle()
    if cycle is not None:
        assert len(set(cycle)) == len(cycle)
        for node, following in zip(cycle, cycle[1:] + cycle[:1], strict=True):
            assert following in graph.requires(node)


@given(SMALL)
def test_leaves_are_the_nodes_that_require_nothing(requirements: Any) -> None:
    graph = Graph.from_requirements(requirements)
    assert set(graph.leaves()) == {n for n in graph if not graph.requires(n)}
