"""The table of notifications, and what is read of their payloads."""

from __future__ import annotations

from typing import Any

import pytest

from heat_convergence.observer.notifications.parsing import (
    MAX_IDS,
    MalformedNotification,
    find_notification_type,
    parse_notification,
)
from heat_convergence.resources.catalog.notification_types import NOTIFICATION_TYPES
from tests.installed_types import REGISTRY

Json = Any


def nova(**fields: Json) -> Json:
    return {"nova_object.name": "InstanceActionPayload", "nova_object.data": fields}


SERVER = nova(uuid="s1", tenant_id="p1", state="active")
LEGACY_SERVER = {"instance_id": "s1", "tenant_id": "p1", "state": "active"}
RULE = {"id": "r1", "security_group_id": "g1", "project_id": "p1"}
SPEC = {"request_spec": nova(project_id="p1"), "instance_uuid": "s1"}

# Event type, payload, and the project and ids that it is about.
CASES: list[tuple[str, Json, str, set[str]]] = [
    ("instance.create.end", SERVER, "p1", {"s1"}),
    ("instance.delete.end", SERVER, "p1", {"s1"}),
    ("instance.update", SERVER, "p1", {"s1"}),
    ("instance.create.error", SERVER, "p1", {"s1"}),
    ("compute_task.build_instances.error", nova(**SPEC), "p1", {"s1"}),
    ("compute.instance.create.end", LEGACY_SERVER, "p1", {"s1"}),
    ("compute.instance.update", LEGACY_SERVER, "p1", {"s1"}),
    ("compute.instance.volume.attach", LEGACY_SERVER, "p1", {"s1"}),
    ("server_group.add_member", nova(uuid="g1", project_id="p1"), "p1", {"g1"}),
    ("servergroup.delete", {"server_group_id": "g1"}, "user", {"g1"}),
    ("flavor.update", nova(flavorid="m1"), "user", {"m1"}),
    ("aggregate.add_host.end", nova(id=7), "user", {"7"}),
    ("aggregate.addhost.end", {"aggregate_id": 7}, "user", {"7"}),
    ("port.update.end", {"port": {"id": "a", "project_id": "p1"}}, "p1", {"a"}),
    (
        "port.create.end",
        {"ports": [{"id": "a", "project_id": "p1"}, {"id": "b", "project_id": "p1"}]},
        "p1",
        {"a", "b"},
    ),
    ("port.delete.end", {"port_id": "a", "port": {"project_id": "p1"}}, "p1", {"a"}),
    ("network.delete.end", {"network_id": "n"}, "user", {"n"}),
    ("policy.create.end", {"policies": [{"id": "q", "project_id": "p1"}]}, "p1", {"q"}),
    ("security_group_rule.create.end", {"security_group_rule": RULE}, "p1", {"r1", "g1"}),
    (
        "security_group_rule.delete.end",
        {"security_group_rule_id": "r1", "security_group_rule": RULE},
        "p1",
        {"r1", "g1"},
    ),
    (
        "router.interface.delete",
        {"router_interface": {"id": "r", "port_id": "a", "project_id": "p1"}},
        "p1",
        {"r", "a"},
    ),
    ("port_forwarding.update.end", {"port_forwarding": {"id": "f"}}, "user", {"f"}),
    ("tag.create.end", {"obj_resource": "ports", "obj_resource_id": "a"}, "user", {"a"}),
    ("volume.retype", {"volume_id": "v", "tenant_id": "p1"}, "p1", {"v"}),
    (
        "volume.attach.end",
        {"volume_id": "v", "tenant_id": "p1", "volume_attachment": [{"id": "t"}]},
        "p1",
        {"v", "t"},
    ),
    (
        "scheduler.create_volume",
        {"volume_id": "v", "volume_properties": {"project_id": "p1"}},
        "p1",
        {"v"},
    ),
    ("backup.create.end", {"backup_id": "b", "tenant_id": "p1"}, "p1", {"b"}),
    ("volume_type.update", {"volume_types": {"id": "t"}}, "user", {"t"}),
    ("qos_specs.update", {"id": "q"}, "user", {"q"}),
    ("image.activate", {"id": "i", "owner": "p1"}, "p1", {"i"}),
    ("image.member.create", {"image_id": "i"}, "user", {"i"}),
    ("identity.user.updated", {"resource_info": "u"}, "user", {"u"}),
    (
        "octavia.loadbalancer.update.end",
        {"loadbalancer_id": "l", "project_id": "p1"},
        "p1",
        {"l"},
    ),
    ("dns.zone.update", {"id": "z", "tenant_id": "p1"}, "p1", {"z"}),
    ("dns.recordset.create", {"id": "z", "tenant_id": "p1"}, "p1", {"z"}),
    ("share_type.create", {"share_types": {"id": "t"}}, "user", {"t"}),
    ("share.extend.end", {"share_id": "s", "project_id": "p1"}, "p1", {"s"}),
    (
        "scheduler.create_share",
        {"share_id": "s", "share_properties": {"project_id": "p1"}},
        "p1",
        {"s"},
    ),
    ("alarm.rule_change", {"alarm_id": "a", "on_behalf_of": "p1"}, "p1", {"a"}),
    (
        "magnum.cluster.update",
        {"target": {"id": "c", "attachments": [{"content": {"project_id": "p1"}}]}},
        "p1",
        {"c"},
    ),
    ("dbaas.cluster_grow.end", {"cluster_id": "c", "tenant_id": "p1"}, "p1", {"c"}),
    ("dbaas.instance_restart.error", {"instance_id": "i", "tenant_id": "p1"}, "p1", {"i"}),
    ("trove.instance.delete", {"instance_id": "i", "tenant_id": "p1"}, "p1", {"i"}),
    ("lease.event.end_lease", {"lease_id": "l", "project_id": "p1"}, "p1", {"l"}),
]


@pytest.mark.parametrize(
    ("event_type", "payload", "project_id", "ids"), CASES, ids=[case[0] for case in CASES]
)
def test_notification_has_the_ids_that_have_changed(event_type, payload, project_id, ids):
    found = find_notification_type(event_type)
    assert found is not None
    changed = parse_notification(found, payload, "user")
    assert (changed.project_id, set(changed.physical_ids)) == (project_id, ids)


@pytest.mark.parametrize(
    ("event_type", "name"),
    [
        ("instance.volume_attach.end", "OS::Cinder::VolumeAttachment"),
        ("router.interface.delete", "OS::Neutron::RouterInterface"),
    ],
)
def test_types_without_ids_in_a_notification(event_type, name):
    found = find_notification_type(event_type)
    assert found is not None
    assert name in found.types_without_ids
    changed = parse_notification(found, {}, "p1")
    assert (changed.project_id, list(changed.physical_ids)) == ("p1", [])
    assert name in changed.types_without_ids


@pytest.mark.parametrize(
    "event_type",
    ["instance.create.start", "port.update.start", "volume.exists", "identity.authenticate", ""],
)
def test_notifications_about_no_change_are_ignored(event_type):
    assert find_notification_type(event_type) is None


@pytest.mark.parametrize(
    "payload",
    [
        None,
        "text",
        [],
        {},
        {"port": None},
        {"port": {"id": None}},
        {"port": {"id": ""}},
        {"port": {"id": "x" * 300}},
        {"port": {"id": True}},
        {"port": {"id": ["a"]}},
        {"ports": {"id": "a"}},
        {"ports": [None, 1]},
    ],
)
def test_odd_payloads_are_malformed(payload):
    found = find_notification_type("port.update.end")
    assert found is not None
    with pytest.raises(MalformedNotification):
        parse_notification(found, payload, "user")


def test_more_ids_than_the_limit_become_their_type():
    found = find_notification_type("port.create.end")
    assert found is not None
    ports = [{"id": f"a{number}", "project_id": "p1"} for number in range(MAX_IDS + 1)]
    changed = parse_notification(found, {"ports": ports}, "user")
    assert not changed.physical_ids
    assert changed.types_without_ids == ("OS::Neutron::Port",)


def test_types_of_the_table_exist():
    names = {each.name for each in REGISTRY}
    used = {
        name
        for each in NOTIFICATION_TYPES
        for name in (*each.resource_types, *each.types_without_ids)
    }
    assert used <= names


def test_services_of_the_table_are_those_of_its_types():
    for each in NOTIFICATION_TYPES:
        services = {REGISTRY.get(name).service for name in each.resource_types}
        assert services <= {each.service}, each.events
