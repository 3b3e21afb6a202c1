"""Rows of resources: reading, locking, writing, completing, deleting."""

from __future__ import annotations

import pytest

from heat_convergence.convergence.model import job_transitions, transition_rules
from heat_convergence.convergence.model.action import Action, Status
from heat_convergence.convergence.model.graph_edge import Edge
from heat_convergence.convergence.model.job import DesiredState, JobState, ObservedState, Verb
from heat_convergence.testing.sample_rows import changed_row, resource_row, stack_row, time_at
from tests.contract.conftest import refused_by_store

FULL = resource_row(
    "full",
    definition={"type": "Sim::Resource", "properties": {"a": [1, {"b": None}], "é": "😀"}},
    requires=("x", "y"),
    referenced_names=("x",),
    physical_dependencies=("z",),
    applied_hash="applied",
    must_run=False,
    touched_version=3,
    posted_at=time_at(2),
    physical_id="p" * 5000,
    properties={"a": 1.5},
    properties_hash="ph",
    attributes={"a": [1, 2]},
    data={"k": "v"},
    action=Action.UPDATE,
    status=Status.FAILED,
    status_reason="long " * 50_000,
    action_started_at=time_at(3),
    observed=ObservedState.BUSY,
    observed_at=time_at(4),
    observe_at=time_at(5),
    lease_owner="engine-1",
    lease_token="token-1",
    lease_expires_at=time_at(6),
    replaces="old",
    replaced_by="new",
    updated_at=time_at(7),
)


def without_wide_columns(row):
    return changed_row(row, definition={}, properties=None, attributes={}, data={})


def test_resource_round_trip(seeder):
    seeder.resources(FULL, resource_row("plain"))
    assert seeder.rows("full", "plain", "nobody") == [FULL, resource_row("plain")]
    assert seeder.rows() == []


def test_resource_requires_existing_stack(seeder):
    with refused_by_store("foreign|no stack"), seeder.store.transaction() as tx:
        tx.resources.insert([resource_row("a", stack_id="nobody")])
    assert seeder.rows("a") == []


def test_resources_are_ordered_by_id(seeder):
    seeder.resources(resource_row("c"), resource_row("a"), resource_row("b"))
    with seeder.store.transaction() as tx:
        for rows in (
            tx.leases.lock_claimable(["c", "a", "b"]),
            tx.resources.lock(["c", "b", "a"]),
            tx.jobs.lock_by_stack("stack-1"),
            tx.resources.lock_by_stack("stack-1"),
        ):
            assert [row.id for row in rows] == ["a", "b", "c"]


def test_narrow_reads_omit_wide_columns(seeder):
    seeder.resources(changed_row(FULL, desired=DesiredState.ABSENT))
    expected = without_wide_columns(changed_row(FULL, desired=DesiredState.ABSENT))
    with seeder.store.transaction() as tx:
        assert tx.resources.lock(["full"]) == [expected]
        assert tx.leases.lock_claimable(["full", "nobody"]) == [expected]
        assert tx.leases.lock_claimable([]) == []
        assert tx.jobs.lock_by_stack("stack-1") == [expected]
        tx.graph.add_physical_dependencies(
            "stack-1", [(expected.id, used) for used in expected.physical.dependencies]
        )
        assert tx.graph.find_physical_dependents("stack-1", expected.physical.dependencies) == [
            expected
        ]
        assert tx.resources.lock([]) == []


def test_full_reads_include_wide_columns(seeder):
    seeder.resources(FULL)
    with seeder.store.transaction() as tx:
        found = tx.leases.get_unblocked({"stack-1": ["full", "nobody"]})
        assert (found.stacks, found.rows) == ({"stack-1": tx.stacks.get("stack-1")}, [FULL])
        assert tx.resources.get_by_stack("stack-1") == [FULL]


def test_planning_reads_omit_values(seeder):
    unmade = resource_row("unmade", data={"key": "kept"})
    seeder.resources(FULL, unmade)
    with seeder.store.transaction() as tx:
        found = tx.resources.lock_by_stack("stack-1")
    assert found == [changed_row(FULL, properties={}, attributes={}), unmade]
    assert unmade.physical.properties is None


def test_unfinished_resources_have_a_job(seeder):
    seeder.stack(stack_row("stack-2"))
    seeder.resources(
        resource_row("a"),
        resource_row("b", job=None, job_state=None),
        resource_row("c", desired=DesiredState.ABSENT, job_state=JobState.CANCELLED),
        resource_row("d", desired=DesiredState.ABSENT, job=None, job_state=None),
        resource_row("e", stack_id="stack-2", desired=DesiredState.ABSENT),
    )
    with seeder.store.transaction() as tx:
        assert [row.id for row in tx.jobs.lock_by_stack("stack-1")] == ["a", "c"]
        assert [row.id for row in tx.resources.lock_by_stack("stack-1")] == ["a", "b", "c", "d"]


def test_physical_dependents_with_a_job_are_found(seeder):
    seeder.stack(stack_row("stack-2"))
    seeder.resources(
        resource_row("a"),
        resource_row("b", job=None, job_state=None),
        resource_row("c", desired=DesiredState.ABSENT),
        resource_row("d"),
        resource_row("e", stack_id="stack-2"),
    )
    with seeder.store.transaction() as tx:
        tx.graph.add_physical_dependencies(
            "stack-1", [("c", "y"), ("a", "x"), ("a", "y"), ("b", "x"), ("d", "X")]
        )
        tx.graph.add_physical_dependencies("stack-1", [])
        tx.graph.add_physical_dependencies("stack-2", [("e", "x")])
        assert [row.id for row in tx.graph.find_physical_dependents("stack-1", ["x"])] == ["a"]
        assert [row.id for row in tx.graph.find_physical_dependents("stack-1", ["x", "y"])] == [
            "a",
            "c",
        ]
        assert [row.id for row in tx.graph.find_physical_dependents("stack-1", ["X", "z"])] == [
            "d"
        ]
        assert tx.graph.find_physical_dependents("stack-1", []) == []


def test_physical_dependencies_are_deleted_with_graph(seeder):
    seeder.stack(stack_row("stack-2"))
    seeder.resources(resource_row("a"), resource_row("b"), resource_row("e", stack_id="stack-2"))
    with seeder.store.transaction() as tx:
        tx.graph.add_physical_dependencies("stack-1", [("a", "x")])
        tx.graph.add_physical_dependencies("stack-2", [("e", "x")])
        tx.graph.clear("stack-1")
        assert tx.graph.find_physical_dependents("stack-1", ["x"]) == []
        tx.graph.add_physical_dependencies("stack-1", [("b", "x")])
        assert [row.id for row in tx.graph.find_physical_dependents("stack-1", ["x"])] == ["b"]
        tx.resources.delete_by_stacks(["stack-1"])
        assert [row.id for row in tx.graph.find_physical_dependents("stack-2", ["x"])] == ["e"]


def test_physical_dependency_is_unique(seeder):
    seeder.resources(resource_row("a"))
    twice = [("a", "x"), ("a", "x")]
    with refused_by_store("unique|duplicate"), seeder.store.transaction() as tx:
        tx.graph.add_physical_dependencies("stack-1", twice)
    with seeder.store.transaction() as tx:
        assert tx.graph.find_physical_dependents("stack-1", ["x"]) == []


def test_any_status_reason_startswith(seeder):
    seeder.stack(stack_row("stack-2"))
    seeder.resources(
        resource_row("a", action=Action.CHECK, status_reason="CHECK: 100% no"),
        resource_row("b", action=Action.UPDATE, status_reason="other"),
        resource_row("c", action=Action.CHECK, desired=DesiredState.ABSENT, status_reason="gone"),
        resource_row("d", action=Action.CHECK, stack_id="stack-2", status_reason="there"),
    )
    with seeder.store.transaction() as tx:
        assert tx.resources.any_status_reason_startswith("stack-1", Action.CHECK, "CHECK: 100% ")
        for beginning in ("HECK", "CHECK: 100_", "other", "gone", "there"):
            assert not tx.resources.any_status_reason_startswith(
                "stack-1", Action.CHECK, beginning
            )


def test_incarnations_share_a_name(seeder):
    seeder.stack(stack_row("stack-2"))
    seeder.resources(
        resource_row("a", name="x"),
        resource_row("b", name="x", desired=DesiredState.ABSENT, job=None, job_state=None),
        resource_row("c", name="y"),
        resource_row("d", name="x", stack_id="stack-2"),
    )
    with seeder.store.transaction() as tx:
        assert [row.id for row in tx.incarnations.list_by_names("stack-1", ["x", "z"])] == [
            "a",
            "b",
        ]
        assert tx.incarnations.list_by_names("stack-1", []) == []


def test_lock_leased_matches_token(seeder):
    seeder.resources(
        resource_row("a", lease_token="mine", version=4),
        resource_row("b", lease_token="theirs"),
        resource_row("c"),
        resource_row("d", lease_token="mine", lease_expires_at=time_at(-100)),
    )
    with seeder.store.transaction() as tx:
        # RULE 3: an expired lease is still the holder's until another one claims.
        assert tx.leases.lock_held(["a", "b", "c", "d"], "mine") == {"a": 4, "d": 1}
        assert tx.leases.lock_held(["b", "c"], "mine") == {}
        assert tx.leases.lock_held([], "mine") == {}


def test_inputs_come_from_desired_incarnations(seeder):
    seeder.stack(stack_row("stack-2"))
    seeder.resources(
        changed_row(FULL, id="1", name="a"),
        resource_row("2", name="a", desired=DesiredState.ABSENT),
        resource_row("3", name="b"),
        resource_row("4", name="b", stack_id="stack-2", type="Other"),
    )
    with seeder.store.transaction() as tx:
        found = tx.incarnations.get_inputs("stack-1", ["a", "b", "c"])
        assert tx.incarnations.get_inputs("stack-1", []) == {}
    assert set(found) == {"a", "b"}
    assert found["a"].physical_id == FULL.physical.id
    assert (found["a"].properties, found["a"].attributes) == (
        FULL.physical.properties,
        FULL.physical.attributes,
    )
    assert (found["b"].type, found["b"].properties) == ("Sim::Resource", {})


def test_update_sets_same_values_on_all_rows(seeder):
    seeder.resources(resource_row("a"), resource_row("b"), resource_row("c"))
    with seeder.store.transaction() as tx:
        tx.resources.update(["a", "c", "nobody"], status=Status.FAILED, data={"k": [1]})
        tx.resources.update([], version=9)
    assert [row.state.status for row in seeder.rows("a", "b", "c")] == [
        "FAILED",
        "COMPLETE",
        "FAILED",
    ]
    assert seeder.row("a").physical.data == {"k": [1]}
    assert seeder.row("b") == resource_row("b")


def test_update_each_sets_own_values_per_row(seeder):
    seeder.resources(resource_row("a"), resource_row("b"), resource_row("c"))
    with seeder.store.transaction() as tx:
        tx.resources.update_each({})
        tx.resources.update_each(
            {
                "b": {"requires": ("x",), "job": None, "status": Status.FAILED},
                "a": {"requires": (), "job": Verb.CHECK, "status": Status.IN_PROGRESS},
                "nobody": {"requires": (), "job": None, "status": Status.FAILED},
            }
        )
    a, b = seeder.rows("a", "b")
    assert (a.job.verb, a.desired.requires, a.state.status) == (Verb.CHECK, (), Status.IN_PROGRESS)
    assert (b.job.verb, b.desired.requires, b.state.status) == (None, ("x",), Status.FAILED)
    assert seeder.row("c") == resource_row("c")


def test_set_version_updates_all_resources_of_stack(seeder):
    seeder.stack(stack_row("stack-2"))
    seeder.resources(
        resource_row("a"), resource_row("b", job=None), resource_row("c", stack_id="stack-2")
    )
    with seeder.store.transaction() as tx:
        tx.resources.set_versions("stack-1", 5)
    assert [row.job.version for row in seeder.rows("a", "b", "c")] == [5, 5, 1]


def test_completed_resource_has_applied_definition_and_no_job(seeder):
    seeder.resources(
        changed_row(FULL, job_state=JobState.AWAITING_OBSERVATION),
        resource_row("b"),
        resource_row("c", job=Verb.CHECK, applied_hash="before"),
    )
    with seeder.store.transaction() as tx:
        tx.jobs.mark_complete(["full", "c"], time_at(9))
    assert (seeder.row("c").job.verb, seeder.row("c").physical.applied_hash) == (None, "before")
    row = seeder.row("full")
    assert (row.job.verb, row.job.state, row.observation.observe_at) == (None,) * 3
    assert (row.state.status, row.physical.applied_hash) == (
        Status.COMPLETE,
        row.desired.definition_hash,
    )
    assert (row.observation.observed_at, row.state.updated_at) == (time_at(9), time_at(9))
    assert seeder.row("b") == resource_row("b")


def test_only_resume_or_converge_ends_suspension(seeder):
    verbs = sorted(Verb)
    seeder.resources(*(resource_row(verb.lower(), job=verb, suspended=True) for verb in verbs))
    with seeder.store.transaction() as tx:
        tx.jobs.mark_complete([verb.lower() for verb in verbs], time_at(9))
    awake = {verb for verb in verbs if not seeder.row(verb.lower()).physical.suspended}
    assert awake == {Verb.CONVERGE, Verb.RESUME}


def test_absent_resources_are_deleted_with_their_edges(seeder):
    seeder.resources(
        resource_row("a"),
        resource_row("gone", desired=DesiredState.ABSENT, job=None, job_state=None),
        resource_row("going", desired=DesiredState.ABSENT),
        resource_row("kept", job=None, job_state=None),
    )
    with seeder.store.transaction() as tx:
        tx.graph.add_edges(
            "stack-1", 1, [Edge("a", "gone"), Edge("gone", "going"), Edge("a", "kept")]
        )
        tx.resources.delete_absent(["stack-1"])
        assert tx.graph.get_edges_at("stack-1", ["a"]) == [Edge("a", "kept")]
    assert [row.id for row in seeder.rows("a", "gone", "going", "kept")] == ["a", "going", "kept"]


def test_deleting_all_resources_of_one_stack(seeder):
    seeder.stack(stack_row("stack-2"))
    seeder.resources(resource_row("a"), resource_row("b"), resource_row("c", stack_id="stack-2"))
    with seeder.store.transaction() as tx:
        tx.graph.add_edges("stack-1", 1, [Edge("a", "b"), Edge("b", None)])
        tx.graph.add_edges("stack-2", 1, [Edge("c", None)])
        tx.resources.delete_by_stacks(["stack-1"])
        assert tx.graph.get_edges_at("stack-2", ["c"]) == [Edge("c", None)]
    assert [row.id for row in seeder.rows("a", "b", "c")] == ["c"]


def test_deleting_resources_by_id(seeder):
    seeder.resources(resource_row("a"), resource_row("b"))
    with seeder.store.transaction() as tx:
        tx.resources.delete(["b", "nobody"])
        tx.resources.delete([])
    assert [row.id for row in seeder.rows("a", "b")] == ["a"]


@pytest.mark.parametrize(
    ("token", "version", "written"),
    [
        pytest.param("t", 1, True, id="held"),
        pytest.param("other", 1, False, id="another worker's"),
        pytest.param("t", 2, False, id="another goal's"),
    ],
)
def test_apply_leased_requires_token_and_version(seeder, token, version, written):
    seeder.resources(
        resource_row("a", lease_token="t"), resource_row("b", lease_token="t", sensitive=True)
    )
    new = {"sensitive": False, "properties": {"a": [1]}}
    with seeder.store.transaction() as tx:
        dropped = job_transitions.drop_lease()
        assert tx.jobs.apply_leased("a", token, version, dropped, new) is written
        assert tx.jobs.apply_leased("nothing", token, version, dropped, new) is False
    a, b = seeder.rows("a", "b")
    assert (a.physical.properties == {"a": [1]}, a.lease.token) == (
        written,
        None if written else "t",
    )
    assert (b.physical.properties, b.lease.token) == (None, "t")


@pytest.mark.parametrize("column", sorted(transition_rules.OWNED_COLUMNS))
def test_only_transitions_set_columns_of_the_job_state_machine(seeder, column):
    seeder.resources(resource_row("a"))
    with seeder.store.transaction() as tx:
        with pytest.raises(ValueError, match=column):
            tx.resources.update(["a"], **{"must_run": False, column: None})
        with pytest.raises(ValueError, match=column):
            tx.resources.update_each({"a": {"must_run": False, column: None}})
    assert seeder.row("a") == resource_row("a")


def test_rows_are_found_by_physical_id_in_one_project(seeder):
    seeder.stack(stack_row("other"))
    seeder.resources(
        resource_row("a", physical_id="one", project_id="p"),
        resource_row("b", physical_id="one", stack_id="other", project_id="p"),
        resource_row("c", physical_id="two", project_id="p"),
        resource_row("d", physical_id="one", project_id="q"),
        resource_row("e", project_id="p"),
    )
    with seeder.store.transaction() as tx:
        found = tx.resources.list_by_physical_ids("p", ["one", "three"])
        assert [row.id for row in found] == ["a", "b"]
        assert tx.resources.list_by_physical_ids("p", []) == []


def test_a_row_gets_another_stack(seeder):
    seeder.stack(stack_row("other"))
    seeder.resources(resource_row("a", physical_id="one"))
    with seeder.store.transaction() as tx:
        tx.resources.update_each({"a": {"stack_id": "other", "name": "x", "root_id": "other"}})
        assert [row.id for row in tx.resources.lock_by_stack("other")] == ["a"]
    (row,) = seeder.rows("a")
    assert (row.stack_id, row.name, row.identity.root_id) == ("other", "x", "other")
    assert row.physical.id == "one"
