"""The graph: edges, readiness, what is freed, retries."""

from __future__ import annotations

import pytest

from heat_convergence.convergence.model.graph_edge import Edge
from heat_convergence.convergence.model.job import JobState
from heat_convergence.testing.sample_rows import resource_row, stack_row


@pytest.fixture
def graph(given):
    """a and b before c, c before d; e alone; the same ids in no other version."""
    given.resources(*(resource_row(name) for name in "abcde"))
    with given.store.transaction() as tx:
        tx.add_edges(
            "stack-1",
            1,
            [Edge("a", "c"), Edge("b", "c"), Edge("c", "d"), Edge("d", None), Edge("e", None)],
        )
    return given


def test_edges_are_found_at_both_ends(graph):
    with graph.store.transaction() as tx:
        assert set(tx.get_edges_at("stack-1", 1, ["c"])) == {
            Edge("a", "c"),
            Edge("b", "c"),
            Edge("c", "d"),
        }
        assert tx.get_edges_at("stack-1", 1, ["e"]) == [Edge("e", None)]
        assert tx.get_edges_at("stack-1", 2, ["c"]) == []
        assert tx.get_edges_at("stack-1", 1, ["nobody"]) == []
        assert tx.get_edges_at("stack-2", 1, ["c"]) == []


def test_edges_are_separate_per_version(graph):
    with graph.store.transaction() as tx:
        tx.add_edges("stack-1", 2, [Edge("c", "a", observed_ready=True)])
        assert tx.get_edges_at("stack-1", 2, ["c"]) == [Edge("c", "a", True)]
        assert tx.find_with_unready_requirements(2, ["a"]) == frozenset()
        assert not tx.has_unready("stack-1", 2)
        assert tx.has_unready("stack-1", 1)


def test_edge_is_unique(graph):
    with (
        pytest.raises(Exception, match=r"(?i)uniq|duplicate|already"),
        graph.store.transaction() as tx,
    ):
        tx.add_edges("stack-1", 1, [Edge("a", "c")])


def test_named_edges_are_deleted(graph):
    with graph.store.transaction() as tx:
        tx.delete_edges("stack-1", 1, [])
        tx.delete_edges("stack-1", 1, [Edge("a", "c"), Edge("e", None), Edge("a", "b")])
        tx.delete_edges("stack-1", 2, [Edge("b", "c")])
        assert set(tx.get_edges_at("stack-1", 1, list("abcde"))) == {
            Edge("b", "c"),
            Edge("c", "d"),
            Edge("d", None),
        }


def test_clearing_graph_deletes_all_versions_of_one_stack(graph):
    graph.stack(stack_row("stack-2"))
    graph.resources(resource_row("z", stack_id="stack-2"))
    with graph.store.transaction() as tx:
        tx.add_edges("stack-1", 2, [Edge("a", None)])
        tx.add_edges("stack-2", 1, [Edge("z", None)])
        tx.clear_graph("stack-1")
        assert not tx.has_unready("stack-1", 1)
        assert not tx.has_unready("stack-1", 2)
        assert tx.has_unready("stack-2", 1)


def test_readiness_queries(graph):
    with graph.store.transaction() as tx:
        assert tx.find_with_unready_requirements(1, list("abcde")) == {"c", "d"}
        assert tx.find_unready(1, ["a", "e", "nobody"]) == {"a", "e"}
        assert (tx.find_unready(1, []), tx.find_with_unready_requirements(1, [])) == (
            frozenset(),
            frozenset(),
        )
        tx.mark_ready(1, ["a", "e"])
        tx.mark_ready(1, [])
        tx.mark_ready(2, ["b"])
        assert tx.find_with_unready_requirements(1, ["c"]) == {"c"}
        assert tx.find_unready(1, ["a", "b", "e"]) == {"b"}
        tx.mark_ready(1, ["b"])
        assert tx.find_with_unready_requirements(1, ["c", "d"]) == {"d"}
        assert tx.has_unready("stack-1", 1)
        tx.mark_ready(1, ["c", "d"])
        assert not tx.has_unready("stack-1", 1)


def test_unblocked_resources_require_nothing_unready(graph):
    with graph.store.transaction() as tx:
        tx.mark_ready(1, ["a"])
        assert tx.find_unblocked_by(1, ["a"]) == []
        tx.mark_ready(1, ["b"])
        assert [row.id for row in tx.find_unblocked_by(1, ["a"])] == ["c"]
        assert [row.id for row in tx.find_unblocked_by(1, ["a", "b"])] == ["c"]
        assert (
            tx.find_unblocked_by(1, ["e"]),
            tx.find_unblocked_by(1, []),
            tx.find_unblocked_by(2, ["a"]),
        ) == ([], [], [])


def test_only_blocked_jobs_are_unblocked(graph):
    with graph.store.transaction() as tx:
        tx.mark_ready(1, ["a", "b"])
        (row,) = tx.find_unblocked_by(1, ["a"])
        assert (row.stack_id, row.name, row.job) == ("stack-1", "c", "CONVERGE")
        tx.update_resources(["c"], job_state=JobState.CANCELLED)
        assert tx.find_unblocked_by(1, ["a"]) == []


def test_find_wrongly_blocked_jobs(graph):
    with graph.store.transaction() as tx:
        assert tx.find_wrongly_blocked("stack-1", 1) == ["a", "b", "e"]
        tx.update_resources(["a", "e"], job_state=JobState.POSTED)
        tx.mark_ready(1, ["a"])
        assert tx.find_wrongly_blocked("stack-1", 1) == ["b"]
        assert tx.find_wrongly_blocked("stack-2", 1) == []


def test_find_dependents_of_resources_changed_in_this_version(graph):
    with graph.store.transaction() as tx:
        tx.update_resources(["a"], touched_version=1)
        tx.update_resources(["c"], touched_version=7)
        assert tx.find_with_touched_requirements(1, ["c", "d", "e"]) == {"c"}
        assert tx.find_with_touched_requirements(7, ["c", "d"]) == frozenset()
        assert tx.find_with_touched_requirements(1, []) == frozenset()


def test_retry_count_per_resource(graph):
    with graph.store.transaction() as tx:
        assert tx.get_retry_counts(1, ["a", "e", "nobody"]) == {"a": 0, "e": 0}
        tx.increment_retry_counts(1, ["a", "d"])
        tx.increment_retry_counts(1, ["a"])
        tx.increment_retry_counts(2, ["e"])
        tx.increment_retry_counts(1, [])
        assert tx.get_retry_counts(1, ["a", "d", "e"]) == {"a": 2, "d": 1, "e": 0}
        assert tx.get_retry_counts(1, []) == {}
