"""The graph: edges, readiness, what is freed, retries."""

from __future__ import annotations

import pytest

from heat_convergence.convergence.model import Edge, JobState
from heat_convergence.testing.rows import resource_row, stack_row


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


def test_edges_are_found_at_either_end(graph):
    with graph.store.transaction() as tx:
        assert set(tx.edges_at("stack-1", 1, ["c"])) == {
            Edge("a", "c"), Edge("b", "c"), Edge("c", "d")
        }
        assert tx.edges_at("stack-1", 1, ["e"]) == [Edge("e", None)]
        assert tx.edges_at("stack-1", 2, ["c"]) == []
        assert tx.edges_at("stack-1", 1, ["nobody"]) == []
        assert tx.edges_at("stack-2", 1, ["c"]) == []


def test_edges_of_another_version_are_another_graph(graph):
    with graph.store.transaction() as tx:
        tx.add_edges("stack-1", 2, [Edge("c", "a", observed_ready=True)])
        assert tx.edges_at("stack-1", 2, ["c"]) == [Edge("c", "a", True)]
        assert tx.unready_needs(2, ["a"]) == frozenset()
        assert not tx.any_unready("stack-1", 2)
        assert tx.any_unready("stack-1", 1)


def test_an_edge_is_there_once(graph):
    with pytest.raises(Exception, match=r"(?i)uniq|duplicate|already"), \
            graph.store.transaction() as tx:
        tx.add_edges("stack-1", 1, [Edge("a", "c")])


def test_edges_are_dropped_one_by_one(graph):
    with graph.store.transaction() as tx:
        tx.drop_edges("stack-1", 1, [])
        tx.drop_edges("stack-1", 1, [Edge("a", "c"), Edge("e", None), Edge("a", "b")])
        tx.drop_edges("stack-1", 2, [Edge("b", "c")])
        assert set(tx.edges_at("stack-1", 1, list("abcde"))) == {
            Edge("b", "c"), Edge("c", "d"), Edge("d", None)
        }


def test_clearing_takes_all_versions_of_one_stack(graph):
    graph.stack(stack_row("stack-2"))
    graph.resources(resource_row("z", stack_id="stack-2"))
    with graph.store.transaction() as tx:
        tx.add_edges("stack-1", 2, [Edge("a", None)])
        tx.add_edges("stack-2", 1, [Edge("z", None)])
        tx.clear_graph("stack-1")
        assert not tx.any_unready("stack-1", 1)
        assert not tx.any_unready("stack-1", 2)
        assert tx.any_unready("stack-2", 1)


def test_readiness(graph):
    with graph.store.transaction() as tx:
        assert tx.unready_needs(1, list("abcde")) == {"c", "d"}
        assert tx.unready(1, ["a", "e", "nobody"]) == {"a", "e"}
        assert (tx.unready(1, []), tx.unready_needs(1, [])) == (frozenset(), frozenset())
        tx.mark_ready(1, ["a", "e"])
        tx.mark_ready(1, [])
        tx.mark_ready(2, ["b"])
        assert tx.unready_needs(1, ["c"]) == {"c"}
        assert tx.unready(1, ["a", "b", "e"]) == {"b"}
        tx.mark_ready(1, ["b"])
        assert tx.unready_needs(1, ["c", "d"]) == {"d"}
        assert tx.any_unready("stack-1", 1)
        tx.mark_ready(1, ["c", "d"])
        assert not tx.any_unready("stack-1", 1)


def test_what_is_freed_needs_one_of_them_and_nothing_unready(graph):
    with graph.store.transaction() as tx:
        tx.mark_ready(1, ["a"])
        assert tx.freed_by(1, ["a"]) == []
        tx.mark_ready(1, ["b"])
        assert [row.id for row in tx.freed_by(1, ["a"])] == ["c"]
        assert [row.id for row in tx.freed_by(1, ["a", "b"])] == ["c"]
        assert (tx.freed_by(1, ["e"]), tx.freed_by(1, []), tx.freed_by(2, ["a"])) == ([], [], [])


def test_only_blocked_jobs_are_freed(graph):
    with graph.store.transaction() as tx:
        tx.mark_ready(1, ["a", "b"])
        (row,) = tx.freed_by(1, ["a"])
        assert (row.stack_id, row.name, row.job) == ("stack-1", "c", "CONVERGE")
        tx.update_resources(["c"], job_state=JobState.HALTED)
        assert tx.freed_by(1, ["a"]) == []


def test_blocked_jobs_that_need_nothing(graph):
    with graph.store.transaction() as tx:
        assert tx.ready_but_blocked("stack-1", 1) == ["a", "b", "e"]
        tx.update_resources(["a", "e"], job_state=JobState.POSTED)
        tx.mark_ready(1, ["a"])
        assert tx.ready_but_blocked("stack-1", 1) == ["b"]
        assert tx.ready_but_blocked("stack-2", 1) == []


def test_touched_needs_are_those_that_draw_on_what_was_touched_now(graph):
    with graph.store.transaction() as tx:
        tx.update_resources(["a"], touched_version=1)
        tx.update_resources(["c"], touched_version=7)
        assert tx.touched_needs(1, ["c", "d", "e"]) == {"c"}
        assert tx.touched_needs(7, ["c", "d"]) == frozenset()
        assert tx.touched_needs(1, []) == frozenset()


def test_retries_are_counted_for_a_resource(graph):
    with graph.store.transaction() as tx:
        assert tx.retry_counts(1, ["a", "e", "nobody"]) == {"a": 0, "e": 0}
        tx.count_retry(1, ["a", "d"])
        tx.count_retry(1, ["a"])
        tx.count_retry(2, ["e"])
        tx.count_retry(1, [])
        assert tx.retry_counts(1, ["a", "d", "e"]) == {"a": 2, "d": 1, "e": 0}
        assert tx.retry_counts(1, []) == {}
