"""The graph: edges, readiness, unblocked resources, retry counts."""

from __future__ import annotations

import pytest

from heat_convergence.convergence.model import job_transitions
from heat_convergence.convergence.model.graph_edge import Edge
from heat_convergence.convergence.model.job import ObservedState
from heat_convergence.convergence.ports.leases import UnblockedResources
from heat_convergence.convergence.ports.store import Transaction
from heat_convergence.template.environment.readiness import ReadinessLevel
from heat_convergence.testing.sample_rows import resource_row, stack_row, time_at
from tests.contract.conftest import refused_by_store


@pytest.fixture
def graph(seeder):
    """Return resources where a and b precede c, c precedes d, and e is alone."""
    seeder.resources(*(resource_row(name) for name in "abcde"))
    with seeder.store.transaction() as tx:
        tx.graph.add_edges(
            "stack-1",
            1,
            [Edge("a", "c"), Edge("b", "c"), Edge("c", "d"), Edge("d", None), Edge("e", None)],
        )
    return seeder


def test_edges_are_found_at_both_ends(graph):
    with graph.store.transaction() as tx:
        assert set(tx.graph.get_edges_at("stack-1", ["c"])) == {
            Edge("a", "c"),
            Edge("b", "c"),
            Edge("c", "d"),
        }
        assert tx.graph.get_edges_at("stack-1", ["e"]) == [Edge("e", None)]
        assert tx.graph.get_edges_at("stack-1", ["nobody"]) == []
        assert tx.graph.get_edges_at("stack-2", ["c"]) == []


def unblocked(tx: Transaction, ids: str) -> list[str]:
    """Return those of the ids that need nothing unready."""
    return [row.id for row in tx.leases.get_unblocked({"stack-1": list(ids)}).rows]


def test_edges_are_separate_per_version(graph):
    with graph.store.transaction() as tx:
        tx.graph.add_edges("stack-1", 2, [Edge("c", "a", observed_ready=True)])
        assert Edge("c", "a", True) in tx.graph.get_edges_at("stack-1", ["c"])
        assert unblocked(tx, "ac") == ["a"]
        assert tx.readiness.find_unready_stacks(["stack-1"]) == {"stack-1"}
        tx.stacks.update("stack-1", version=2)
        assert unblocked(tx, "ac") == ["a", "c"]
        assert not tx.readiness.find_unready_stacks(["stack-1"])


def test_edges_of_several_new_stacks_are_inserted_together(seeder):
    seeder.stack(stack_row("other"))
    rows = [resource_row("a"), resource_row("b"), resource_row("z", stack_id="other")]
    seeder.resources(*rows)
    with seeder.store.transaction() as tx:
        tx.graph.add_first_edges(
            {"stack-1": [Edge("a", "b"), Edge("b", None)], "other": [Edge("z", None)], "none": []}
        )
        assert set(tx.graph.get_edges_at("stack-1", ["b"])) == {Edge("a", "b"), Edge("b", None)}
        assert tx.graph.get_edges_at("other", ["z"]) == [Edge("z", None)]
        assert unblocked(tx, "a") == ["a"]


def test_edge_is_unique(graph):
    with refused_by_store("uniq|duplicate|already"), graph.store.transaction() as tx:
        tx.graph.add_edges("stack-1", 1, [Edge("a", "c")])
    with graph.store.transaction() as tx:
        assert tx.graph.get_edges_at("stack-1", ["a"]) == [Edge("a", "c")]


def test_named_edges_are_deleted(graph):
    with graph.store.transaction() as tx:
        tx.graph.delete_edges("stack-1", 1, [])
        tx.graph.delete_edges("stack-1", 1, [Edge("a", "c"), Edge("e", None), Edge("a", "b")])
        tx.graph.delete_edges("stack-1", 2, [Edge("b", "c")])
        assert set(tx.graph.get_edges_at("stack-1", list("abcde"))) == {
            Edge("b", "c"),
            Edge("c", "d"),
            Edge("d", None),
        }


def test_clearing_graph_deletes_all_versions_of_one_stack(graph):
    graph.stack(stack_row("stack-2"))
    graph.resources(resource_row("z", stack_id="stack-2"))
    with graph.store.transaction() as tx:
        tx.graph.add_edges("stack-1", 2, [Edge("a", None)])
        tx.graph.add_edges("stack-2", 1, [Edge("z", None)])
        tx.graph.clear("stack-1")
        assert tx.readiness.find_unready_stacks(["stack-1", "stack-2", "nobody"]) == {"stack-2"}
        assert tx.readiness.find_unready_stacks([]) == frozenset()
        tx.stacks.update("stack-1", version=2)
        assert not tx.readiness.find_unready_stacks(["stack-1"])


def test_readiness_queries(graph):
    with graph.store.transaction() as tx:
        assert unblocked(tx, "abcde") == ["a", "b", "e"]
        assert tx.leases.get_unblocked({"stack-1": []}) == UnblockedResources()
        assert tx.leases.get_unblocked({"stack-2": ["a"]}) == UnblockedResources()
        assert tx.leases.get_unblocked({}) == UnblockedResources()
        assert tx.readiness.find_unready(1, ["a", "e", "nobody"]) == {"a", "e"}
        assert tx.readiness.find_unready(1, []) == frozenset()
        tx.readiness.mark_ready(1, ["a", "e"])
        tx.readiness.mark_ready(1, [])
        tx.readiness.mark_ready(2, ["b"])
        assert unblocked(tx, "c") == []
        assert tx.readiness.find_unready(1, ["a", "b", "e"]) == {"b"}
        tx.readiness.mark_ready(1, ["b"])
        assert unblocked(tx, "cd") == ["c"]
        assert tx.readiness.find_unready_stacks(["stack-1"])
        tx.readiness.mark_ready(1, ["c", "d"])
        assert not tx.readiness.find_unready_stacks(["stack-1"])


def test_unblocked_resources_require_nothing_unready(graph):
    with graph.store.transaction() as tx:
        tx.readiness.mark_ready(1, ["a"])
        assert tx.readiness.find_unblocked_by(1, ["a"]) == []
        tx.readiness.mark_ready(1, ["b"])
        assert _unblocked(tx, ["a"]) == [("c", "a")]
        assert _unblocked(tx, ["a", "b"]) == [("c", "a")]
        assert _unblocked(tx, ["b"]) == [("c", "b")]
        assert (
            tx.readiness.find_unblocked_by(1, ["e"]),
            tx.readiness.find_unblocked_by(1, []),
            tx.readiness.find_unblocked_by(2, ["a"]),
        ) == ([], [], [])


def test_only_blocked_jobs_are_unblocked(graph):
    with graph.store.transaction() as tx:
        tx.readiness.mark_ready(1, ["a", "b"])
        ((row, _cause),) = tx.readiness.find_unblocked_by(1, ["a"])
        assert (row.stack_id, row.name, row.job.verb) == ("stack-1", "c", "CONVERGE")
        tx.jobs.apply(["c"], job_transitions.cancel())
        assert tx.readiness.find_unblocked_by(1, ["a"]) == []


def test_find_wrongly_blocked_jobs(graph):
    with graph.store.transaction() as tx:
        assert tx.readiness.find_wrongly_blocked("stack-1", 1) == ["a", "b", "e"]
        tx.jobs.apply(["a", "e"], job_transitions.post(time_at(1)))
        tx.readiness.mark_ready(1, ["a"])
        assert tx.readiness.find_wrongly_blocked("stack-1", 1) == ["b"]
        assert tx.readiness.find_wrongly_blocked("stack-2", 1) == []


def test_find_dependents_of_resources_changed_in_this_version(graph):
    with graph.store.transaction() as tx:
        tx.resources.update(["a"], touched_version=1)
        tx.resources.update(["c"], touched_version=7)
        assert tx.readiness.find_with_touched_requirements(1, ["c", "d", "e"]) == {"c"}
        assert tx.readiness.find_with_touched_requirements(7, ["c", "d"]) == frozenset()
        assert tx.readiness.find_with_touched_requirements(1, []) == frozenset()


def test_retry_count_per_resource(graph):
    with graph.store.transaction() as tx:
        assert tx.graph.get_retry_counts(1, ["a", "e", "nobody"]) == {"a": 0, "e": 0}
        tx.graph.increment_retry_counts(1, ["a", "d"])
        tx.graph.increment_retry_counts(1, ["a"])
        tx.graph.increment_retry_counts(2, ["e"])
        tx.graph.increment_retry_counts(1, [])
        assert tx.graph.get_retry_counts(1, ["a", "d", "e"]) == {"a": 2, "d": 1, "e": 0}
        assert tx.graph.get_retry_counts(1, []) == {}


def test_takeovers_are_counted_per_resource_and_version(graph):
    with graph.store.transaction() as tx:
        assert tx.graph.count_takeovers(1, []) == {}
        assert tx.graph.count_takeovers(1, ["a", "e", "nobody"]) == {"a": 1, "e": 1}
        assert tx.graph.count_takeovers(1, ["a"]) == {"a": 2}
        assert tx.graph.count_takeovers(2, ["e"]) == {}
        assert tx.graph.get_retry_counts(1, ["a"]) == {"a": 0}
        assert tx.leases.get_unblocked({"stack-1": ["a", "e", "d"]}).takeovers == {"a": 2, "e": 1}


def test_level_lets_those_start_that_wait_for_no_more(seeder):
    seeder.resources(*(resource_row(name) for name in "abcd"))
    edges = [
        Edge("a", "b", level=ReadinessLevel.EXISTS),
        Edge("a", "c", level=ReadinessLevel.CONFIGURED),
        Edge("a", "d"),
        *(Edge(name, None) for name in "bcd"),
    ]
    with seeder.store.transaction() as tx:
        tx.graph.add_edges("stack-1", 1, edges)
        assert set(tx.graph.get_edges_at("stack-1", ["a"])) == set(edges[:3])
        assert not tx.readiness.mark_level(1, [], ReadinessLevel.ACTIVE)
        assert not tx.readiness.mark_level(2, ["a"], ReadinessLevel.ACTIVE)
        assert not tx.readiness.mark_level(1, ["b", "c", "d"], ReadinessLevel.HEALTHY)
        assert tx.readiness.find_released(1, list("abcd")) == frozenset()
        assert tx.readiness.mark_level(1, ["a"], ReadinessLevel.EXISTS)
        assert unblocked(tx, "bcd") == ["b"]
        assert tx.readiness.find_released(1, list("abcd")) == {"a"}
        assert tx.readiness.find_released(1, []) == frozenset()
        assert not tx.readiness.mark_level(1, ["a"], ReadinessLevel.EXISTS)
        assert tx.readiness.mark_level(1, ["a"], ReadinessLevel.HEALTHY)
        assert unblocked(tx, "bcd") == ["b", "c"]
        assert tx.readiness.find_unready(1, ["a"]) == {"a"}
        tx.readiness.mark_ready(1, ["a"])
        assert unblocked(tx, "bcd") == ["b", "c", "d"]
        assert tx.readiness.find_unready(1, ["a"]) == frozenset()


def test_unblocked_resources_of_several_stacks_are_found_by_one_statement(graph):
    other = stack_row("stack-2", version=4)
    graph.stack(other)
    graph.stack(stack_row("stack-3"))
    graph.resources(*(resource_row(name, stack_id="stack-2") for name in "xyz"))
    graph.resources(resource_row("of-stack-3", stack_id="stack-3"))
    with graph.store.transaction() as tx:
        tx.graph.add_edges("stack-2", 3, [Edge("y", "x")])
        edges = [Edge("x", "y"), Edge("z", "x", observed_ready=True)]
        tx.graph.add_edges("stack-2", 4, edges)
        tx.graph.count_takeovers(4, ["x"])
        tx.graph.count_takeovers(1, ["c", "e"])
        found = tx.leases.get_unblocked(
            {"stack-1": ["c", "e"], "stack-2": ["x", "y", "of-stack-3"], "nothing": ["nobody"]}
        )
        assert [row.id for row in found.rows] == ["e", "x"]
        assert found.stacks == {"stack-1": tx.stacks.get("stack-1"), "stack-2": other}
        assert found.takeovers == {"e": 1, "x": 1}


def test_reads_at_rest_are_counted_by_observed_state(seeder):
    rest = {"job": None, "job_state": None, "observe_at": time_at(5)}
    seeder.stack(stack_row("stack-2"))
    seeder.resources(
        resource_row("a", **rest, observed=ObservedState.READY),
        resource_row("b", **rest, observed=ObservedState.BUSY),
        resource_row("c", **rest, observed=ObservedState.BUSY),
        resource_row("d", **{**rest, "observe_at": None}, observed=ObservedState.READY),
        resource_row("e", observe_at=time_at(5), observed=ObservedState.BUSY),
        resource_row("f", **rest, observed=ObservedState.READY, stack_id="stack-2"),
    )
    with seeder.store.transaction() as tx:
        counts = tx.readiness.count_reads_at_rest("stack-1")
        assert counts == {ObservedState.READY: 1, ObservedState.BUSY: 2}
        assert tx.readiness.count_reads_at_rest("stack-3") == {}
        tx.jobs.apply(["b"], job_transitions.read_at_rest(ObservedState.READY, None))
        assert tx.readiness.count_reads_at_rest("stack-1")[ObservedState.BUSY] == 1
    row = seeder.row("b")
    assert (row.observation.state, row.observation.observe_at) == (ObservedState.READY, None)


def _unblocked(tx, ids):
    return [(row.id, cause) for row, cause in tx.readiness.find_unblocked_by(1, ids)]
