"""Trove's types: resizes one step at a time, users with their databases, and refusals."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from heat_convergence.common.errors import Invalid
from heat_convergence.common.failures import Conflict
from heat_convergence.convergence.model.action import Action
from heat_convergence.convergence.model.job import ObservedState
from heat_convergence.resources.protocol.verb_values import ResourceContext
from tests.unit.resources.emulated_cloud import TYPES, EmulatedCloud

INSTANCE, CLUSTER = "OS::Trove::Instance", "OS::Trove::Cluster"
ANN = {"name": "ann", "password": "secret1", "databases": ["one"]}
BASE: dict[str, Any] = {
    "flavor": "db.small",
    "size": 1,
    "databases": [{"name": "one"}, {"name": "two"}],
    "users": [ANN],
}
MEMBERS = [{"flavor": "db.small", "volume_size": 1}]
STORE = {"datastore_type": "mongodb", "datastore_version": "7.0", "instances": MEMBERS}


def updated(
    cloud: EmulatedCloud, context: ResourceContext, change: dict[str, Any]
) -> ResourceContext:
    """Update the instance and return its new context."""
    after = {**context.properties, **change}
    TYPES[INSTANCE].update(context, after, frozenset(change))
    return replace(context, properties=after)


def test_volume_and_flavor_are_resized_one_after_the_other() -> None:
    cloud = EmulatedCloud()
    context = cloud.created(INSTANCE, BASE)
    cloud.emulation.advance(2)
    context = updated(cloud, context, {"size": 2, "flavor": "db.large"})
    steps = []
    for _ in range(3):
        (body,) = cloud.emulation.collection("trove.instance").bodies()
        steps.append((body["status"], body["volume"]["size"], body["flavor"]["id"]))
        cloud.emulation.advance(2)
        result = TYPES[INSTANCE].observe(context)
    assert steps == [("RESIZE", 2, "1"), ("RESIZE", 2, "2"), ("HEALTHY", 2, "2")]
    assert result.observed is ObservedState.READY


def test_users_are_changed_granted_and_revoked() -> None:
    cloud = EmulatedCloud()
    context = cloud.created(INSTANCE, BASE)
    cloud.emulation.advance(2)
    changed = {**ANN, "password": "secret2", "databases": ["two"], "host": "%"}
    updated(cloud, context, {"users": [changed, {**ANN, "name": "bob", "host": "%"}]})
    (body,) = cloud.emulation.collection("trove.instance").bodies()
    ann, bob = body["users"]
    assert (ann["password"], ann["databases"]) == ("secret2", [{"name": "two"}])
    assert (bob["name"], bob["databases"]) == ("bob", [{"name": "one"}])


def test_users_make_the_instance_secret() -> None:
    assert TYPES[INSTANCE].has_secret_data(BASE)
    assert not TYPES[INSTANCE].has_secret_data({"users": []})


@pytest.mark.parametrize(
    ("names", "message"),
    [({"datastore_version"}, "requires datastore_type"), ({"users"}, "Databases property")],
)
def test_missing_properties_are_refused(names: set[str], message: str) -> None:
    with pytest.raises(Invalid, match=message):
        TYPES[INSTANCE].validate_property_names(frozenset(names))


@pytest.mark.parametrize(
    ("properties", "message"),
    [
        ({**BASE, "users": [{**ANN, "databases": ["none"]}]}, "none of user ann"),
        ({**BASE, "networks": [{"network": "a", "port": "b"}]}, "network or port"),
    ],
)
def test_contradicting_properties_are_refused(properties: dict[str, Any], message: str) -> None:
    with pytest.raises(Invalid, match=message):
        TYPES[INSTANCE].validate(properties, None)


@pytest.mark.parametrize(
    ("states", "expected"),
    [
        (["ACTIVE", "BUILD"], ObservedState.BUSY),
        (["ACTIVE", "HEALTHY"], ObservedState.READY),
        (["ACTIVE", "FAILED"], ObservedState.FAILED),
        ([], ObservedState.BUSY),
    ],
)
def test_cluster_is_as_ready_as_its_instances(states: list[str], expected: ObservedState) -> None:
    context = EmulatedCloud().context(CLUSTER, STORE)
    body = {"instances": [{"status": state} for state in states]}
    assert TYPES[CLUSTER].observed_state(context, body)[0] is expected


def test_cluster_with_a_task_is_deleted_after_it() -> None:
    cloud = EmulatedCloud()
    context = replace(cloud.created(CLUSTER, STORE), action=Action.DELETE)
    with pytest.raises(Conflict, match="BUILDING"):
        TYPES[CLUSTER].delete(context)
    cloud.emulation.advance(2)
    assert TYPES[CLUSTER].delete(context).observed is ObservedState.BUSY
    assert TYPES[CLUSTER].delete(context).observed is ObservedState.BUSY
    cloud.emulation.advance(2)
    assert TYPES[CLUSTER].delete(context).observed is ObservedState.ABSENT
