"""Order, leaves and cycles of graphs, by example."""

from heat_convergence.graph.graph import Graph


def test_diamond_is_ordered_from_its_leaf() -> None:
    graph = Graph.from_requirements({"d": ["b", "c"], "b": ["a"], "c": ["a"]})
    assert graph.leaves() == ("a",)
    assert graph.topological_order() == ("a", "b", "c", "d")
    assert graph.requires("d") == {"b", "c"}
    assert graph.needed_by("a") == {"b", "c"}
    assert graph.find_cycle() is None
    assert len(graph) == 4
    assert "a" in graph
    assert "x" not in graph


def test_cycle_is_listed_in_order_from_its_smallest_node() -> None:
    graph = Graph.from_requirements({"a": ["c"], "c": ["b"], "b": ["d"], "d": ["c"], "e": []})
    assert graph.find_cycle() == ("b", "d", "c")
    assert graph.topological_order() == ("e",)


def test_node_that_requires_itself_is_a_cycle() -> None:
    assert Graph.from_requirements({"a": ["a"]}).find_cycle() == ("a",)


def test_reversed_graph_has_the_order_of_deletion() -> None:
    graph = Graph.from_requirements({"b": ["a"], "c": ["b"]})
    assert graph.reversed().topological_order() == ("c", "b", "a")


def test_dependents_include_indirect_ones() -> None:
    graph = Graph.from_requirements({"b": ["a"], "c": ["b"], "d": []})
    assert graph.with_dependents(["b"]) == {"b", "c"}
    assert graph.with_requirements(["b"]) == {"a", "b"}
    assert graph.with_dependents(["z"]) == graph.with_requirements(["z"]) == {"z"}


def test_dot_escapes_names() -> None:
    dot = Graph.from_requirements({'a"b': ["c\\d"]}).to_dot()
    assert '"c\\\\d" -> "a\\"b";' in dot


def test_deep_chain_needs_no_recursion() -> None:
    size = 5_000  # far beyond the recursion limit
    graph = Graph.from_requirements({n: [n - 1] for n in range(1, size)})
    assert graph.topological_order() == tuple(range(size))
    assert Graph.from_requirements(
        {n: [(n + 1) % size] for n in range(size)}
    ).find_cycle() == tuple(range(size))
