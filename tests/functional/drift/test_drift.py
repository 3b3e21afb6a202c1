"""Drift of complete stacks: what others change in the cloud is seen and shown."""

from __future__ import annotations

from typing import Any

import pytest
import sqlalchemy as sa

from heat_convergence.common.failures import RowsContradict
from heat_convergence.db.tables import resource
from tests.functional.drift.drift_cases import (
    CHANGES,
    drift,
    entry,
    ours,
    template_with_everything,
    watch,
)
from tests.functional.openstack_types.emulated_service import (
    create_stack,
    physical_id,
    port,
    template,
    update_stack,
)

Json = Any


def test_unchanged_resources_are_in_sync(service, emulated_cloud):
    path = create_stack(service, template_with_everything())
    assert drift(service, path)["drift_status"] == "NOT_CHECKED"
    watch(service)
    found = drift(service, path)
    assert found["resources"] == []
    assert found["drift_status"] == "IN_SYNC"
    assert found["resource_counts"]["IN_SYNC"] == 9
    assert service.send("GET", path).json["stack"]["drift_status"] == "IN_SYNC"
    shown = service.send("GET", f"{path}/resources").json["resources"]
    assert {each["drift_status"] for each in shown} == {"IN_SYNC"}
    assert all(each["observed_at"] > each["creation_time"] for each in shown)


@pytest.mark.parametrize("change", sorted(CHANGES))
def test_change_by_others_is_shown(service, emulated_cloud, change):
    name, make, status, properties = CHANGES[change]
    path = create_stack(service, template_with_everything())
    watch(service)
    make(emulated_cloud, physical_id(service, path, name))
    watch(service, 60)
    found_name, found_status, found = entry(service, path)
    assert (found_name, found_status) == (name, status)
    assert [each["property"] for each in found] == properties
    assert drift(service, path)["drift_status"] == "MODIFIED"
    shown = service.send("GET", f"{path}/resources/{name}").json["resource"]
    assert shown["drift_status"] == status
    listed = service.send("GET", "/drift").json["resources"]
    assert [each["resource_name"] for each in listed] == [name]


def test_entries_that_others_add_are_no_drift(service, emulated_cloud):
    path = create_stack(service, template_with_everything())
    key = physical_id(service, path, "server")
    ours(emulated_cloud, "nova.server", key)["metadata"]["agent"] = "7"
    group = ours(emulated_cloud, "neutron.security_group", physical_id(service, path, "group"))
    rule = {"direction": "ingress", "ethertype": "IPv4", "protocol": "udp"}
    group["security_group_rules"].append(rule)
    address = physical_id(service, path, "address")
    ours(emulated_cloud, "neutron.floatingip", address)["port_id"] = "somewhere"
    watch(service)
    assert drift(service, path)["drift_status"] == "IN_SYNC"


@pytest.mark.parametrize("column", ["properties", "attributes", "data"])
def test_damaged_row_hides_no_drift_of_other_resources(service, emulated_cloud, column):
    """The properties of a rule say which list shows it."""
    policy = {"get_resource": "policy"}
    rules = {
        name: {
            "type": "OS::Neutron::QoSBandwidthLimitRule",
            "properties": {"policy": policy, "max_kbps": 100},
        }
        for name in ("a", "b")
    }
    policies = {name: {"type": "OS::Neutron::QoSPolicy"} for name in ("policy", "other")}
    rules["b"]["properties"]["policy"] = {"get_resource": "other"}
    path = create_stack(service, template(**policies, **rules))
    with service.database.write() as connection:
        damaged = resource.update().where(resource.c.name == "a")
        connection.execute(damaged.values({column: sa.literal('{"x": ', sa.Text)}))
    in_policy = {"qos_policy_id": physical_id(service, path, "other")}
    rules_of_other = emulated_cloud.emulation.collection(
        "neutron.qos_bandwidth_limit_rule", in_policy
    )
    rules_of_other.remove(physical_id(service, path, "b"))
    watch(service)
    found = {each["resource_name"]: each for each in drift(service, path)["resources"]}
    assert found["b"]["drift_status"] == "DELETED"
    assert found["a"]["drift_status"] == "UNKNOWN"
    assert f"The stored {column} of resource" in found["a"]["drift_reason"]


class UnreadableCredential:
    """A cloud whose region stands in a credential that cannot be decoded."""

    def __init__(self, cloud: Any) -> None:
        self._cloud = cloud

    @property
    def call_region(self) -> str:
        raise RowsContradict("The stored credential cannot be decoded")

    def __getattr__(self, name: str) -> Any:
        return getattr(self._cloud, name)


def test_damaged_credential_hides_no_drift_of_other_stacks(service, emulated_cloud, monkeypatch):
    paths = [create_stack(service, template(), stack_name=name) for name in ("damaged", "other")]
    damaged_id, cloud_of = paths[0].rsplit("/", 1)[1], service.watch._cloud_of
    monkeypatch.setattr(
        service.watch,
        "_cloud_of",
        lambda tree_id, *rest: (
            UnreadableCredential(cloud_of(tree_id, *rest))
            if tree_id == damaged_id
            else cloud_of(tree_id, *rest)
        ),
    )
    emulated_cloud.emulation.collection("neutron.network", {}).remove(
        physical_id(service, paths[1], "net")
    )
    watch(service)
    damaged, other = (drift(service, path)["resources"][0] for path in paths)
    assert other["drift_status"] == "DELETED"
    assert damaged["drift_status"] == "UNKNOWN"
    assert "The stored credential cannot be decoded" in damaged["drift_reason"]


def test_own_update_is_no_drift(service, emulated_cloud):
    path = create_stack(service, template(port=port(name="one")))
    watch(service)
    assert update_stack(service, path, template(port=port(name="two"))) == "UPDATE_COMPLETE"
    counts = drift(service, path)["resource_counts"]
    assert (counts["MODIFIED"], counts["IN_SYNC"]) == (0, 2)  # the port was not read since
    watch(service, 60)
    assert drift(service, path)["resource_counts"]["IN_SYNC"] == 3


def test_value_that_others_restore_is_in_sync_again(service, emulated_cloud):
    path = create_stack(service, template(port=port(name="one")))
    body = ours(emulated_cloud, "neutron.port", physical_id(service, path, "port"))
    body["name"] = "two"
    watch(service)
    assert entry(service, path) == (
        "port",
        "MODIFIED",
        [{"property": "name", "applied": "one", "observed": "two"}],
    )
    body["name"] = "one"
    watch(service, 60)
    assert drift(service, path)["drift_status"] == "IN_SYNC"


def test_one_list_call_for_each_type_whatever_the_number_of_stacks(service, emulated_cloud):
    for number in range(3):
        create_stack(service, template(), stack_name=f"s{number}")
    watch(service, 300)
    emulated_cloud.emulation.request_counts.clear()
    service.clock.advance(60)
    service.watch.tick()
    assert dict(emulated_cloud.emulation.request_counts) == {
        "GET network /networks": 1,
        "GET network /subnets": 1,
    }


def test_watch_never_writes_to_the_cloud(service, emulated_cloud):
    path = create_stack(service, template_with_everything())
    key = physical_id(service, path, "server")
    emulated_cloud.emulation.request_counts.clear()
    for status in ("VERIFY_RESIZE", "ERROR", "DELETED", "ACTIVE"):
        ours(emulated_cloud, "nova.server", key)["status"] = status
        watch(service, 120)
    methods = {each.split()[0] for each in emulated_cloud.emulation.request_counts}
    assert methods == {"GET"}


def test_mass_loss_is_not_believed(service, emulated_cloud):
    resources = {
        f"net{number}": {"type": "OS::Neutron::Net", "properties": {}} for number in range(12)
    }
    path = create_stack(service, {"heat_template_version": "2016-10-14", "resources": resources})
    watch(service)
    for name in resources:
        key = physical_id(service, path, name)
        emulated_cloud.emulation.collection("neutron.network").remove(key)
    watch(service, 60)
    found = drift(service, path)
    assert found["resource_counts"]["UNKNOWN"] == 12
    assert found["drift_status"] == "UNKNOWN"
    reasons = {each["drift_reason"] for each in found["resources"]}
    assert reasons == {"12 of 12 resources of the type are missing at once"}


def test_failing_service_delays_only_its_own_resources(service, emulated_cloud):
    body = template_with_everything()
    path = create_stack(service, body)
    watch(service)
    emulated_cloud.emulation.inject_failure("GET", "/servers", 500, times=1000)
    ours(emulated_cloud, "neutron.port", physical_id(service, path, "port"))["name"] = "other"
    watch(service)
    assert entry(service, path)[0] == "port"
    web = service.send("GET", f"{path}/resources/server").json["resource"]
    front = service.send("GET", f"{path}/resources/port").json["resource"]
    assert web["drift_status"] == "IN_SYNC"
    assert web["observed_at"] < front["observed_at"]


def test_nested_stacks_are_part_of_the_root(service, emulated_cloud):
    group = {
        "type": "OS::Heat::ResourceGroup",
        "properties": {
            "count": 2,
            "resource_def": {"type": "OS::Neutron::Net", "properties": {"name": "net-%index%"}},
        },
    }
    body = {"heat_template_version": "2016-10-14", "resources": {"group": group}}
    path = create_stack(service, body)
    (changed,) = [e for e in emulated_cloud.bodies("neutron.network") if e["name"] == "net-1"]
    changed["name"] = "other"
    watch(service)
    (found,) = drift(service, path)["resources"]
    assert found["resource_name"] == "1"
    assert found["stack_name"].startswith("s-group-")


def test_other_projects_see_nothing(service, emulated_cloud):
    path = create_stack(service, template(port=port(name="one")))
    body = ours(emulated_cloud, "neutron.port", physical_id(service, path, "port"))
    body["name"] = "two"
    watch(service)
    assert len(service.send("GET", "/drift").json["resources"]) == 1
    assert service.send("GET", "/drift", project="q").json["resources"] == []
    assert service.send("GET", f"{path}/drift", project="q").status_int == 404


def test_deleted_stack_leaves_nothing(service, emulated_cloud):
    path = create_stack(service, template())
    watch(service)
    assert service.send("DELETE", path).status_int == 204
    service.run_until_idle()
    watch(service)
    assert service.services.store.watch.get_next_time() is None
    every = "&".join(f"status={name}" for name in ("IN_SYNC", "MODIFIED", "UNKNOWN", "DELETED"))
    assert service.send("GET", f"/drift?{every}").json["resources"] == []


@pytest.mark.parametrize(
    ("query", "text"),
    [("status=BAD", "must be one of"), ("limit=x", "limit"), ("other=1", "other")],
)
def test_bad_query_is_refused(service, query, text):
    answer = service.send("GET", f"/drift?{query}")
    assert answer.status_int == 400
    assert text in answer.text
