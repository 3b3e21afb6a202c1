"""Notifications of other services: what they are about is read at once."""

from __future__ import annotations

import logging
from datetime import timedelta

import pytest
from prometheus_client import REGISTRY

from heat_convergence.common.failures import Unavailable
from heat_convergence.testing.openstack.storage import cinder_api
from tests.functional.drift.drift_cases import drift, entry, ours, watch
from tests.functional.drift.drift_cases import template_with_everything as everything
from tests.functional.openstack_types.emulated_service import (
    create_stack,
    physical_id,
    port,
    server,
    template,
)

PROJECT = "p"
PORTS = "GET network /ports"


def notify_port(service, port_id, event_type="port.update.end", project=PROJECT) -> None:
    payload = {"port": {"id": port_id, "project_id": project}}
    service.notifications.receive(event_type, payload, project)


def run(service) -> None:
    """Run one round of the observer, as its loop does when it was woken."""
    service.notifications.tick()
    service.observer.tick()
    service.watch.tick()


def port_stack(service, **properties):
    path = create_stack(service, template(port=port(name="one", **properties)))
    watch(service)
    return path, physical_id(service, path, "port")


def calls(cloud) -> int:
    return sum(cloud.emulation.request_counts.values())


def outcomes(service_name: str, outcome: str) -> float:
    labels = {"service": service_name, "outcome": outcome}
    return REGISTRY.get_sample_value("heat_convergence_notifications_total", labels) or 0.0


def test_change_is_observed_when_it_is_announced(service, emulated_cloud):
    path, port_id = port_stack(service)
    ours(emulated_cloud, "neutron.port", port_id)["name"] = "other"
    service.clock.advance(2)
    run(service)
    assert drift(service, path)["drift_status"] == "IN_SYNC"
    notify_port(service, port_id)
    run(service)
    assert entry(service, path)[:2] == ("port", "MODIFIED")
    (found,) = drift(service, path)["resources"]
    assert found["observation_source"] == "notification"


def test_repair_starts_as_soon_as_its_drift_is_observed(service, emulated_cloud):
    path, port_id = port_stack(service)
    service.send("PUT", f"{path}/drift/policy", {"policy": "repair"})
    watch(service)
    body = ours(emulated_cloud, "neutron.port", port_id)
    body["name"] = "other"
    service.clock.advance(2)
    notify_port(service, port_id)
    run(service)
    service.run_until_idle()
    assert body["name"] == "one"


def test_missing_resource_is_repaired_at_the_read_that_confirms_it(service, emulated_cloud):
    path, port_id = port_stack(service)
    service.send("PUT", f"{path}/drift/policy", {"policy": "repair"})
    watch(service)
    service.clock.advance(2)
    emulated_cloud.emulation.remove(port_id)
    notify_port(service, port_id, "port.delete.end")
    run(service)
    service.run_until_idle()
    assert physical_id(service, path, "port") == port_id  # RULE 10: one read is not enough
    service.clock.advance(2)
    notify_port(service, port_id, "port.delete.end")
    run(service)
    service.run_until_idle()
    assert physical_id(service, path, "port") != port_id


def test_other_groups_are_not_read(service, emulated_cloud):
    path = create_stack(service, everything())
    watch(service)
    service.clock.advance(2)
    run(service)
    emulated_cloud.emulation.request_counts.clear()
    notify_port(service, physical_id(service, path, "port"))
    run(service)
    assert {each.split("?")[0] for each in emulated_cloud.emulation.request_counts} == {PORTS}


@pytest.mark.parametrize("project", ["p", "another"])
def test_objects_of_others_cause_no_call(service, emulated_cloud, project):
    port_stack(service)
    service.clock.advance(2)
    run(service)
    emulated_cloud.emulation.request_counts.clear()
    for number in range(100):
        notify_port(service, f"somebody-elses-{number}", project=project)
    run(service)
    assert calls(emulated_cloud) == 0


def test_repeated_notifications_cause_one_read_in_a_second(service, emulated_cloud):
    _, port_id = port_stack(service)
    service.clock.advance(2)
    run(service)
    emulated_cloud.emulation.request_counts.clear()
    for _ in range(20):
        notify_port(service, port_id)
        run(service)
        service.clock.advance(0.1)
    assert 2 <= calls(emulated_cloud) <= 3


def test_flood_is_bounded_and_ends_in_reads_of_the_type(service, emulated_cloud):
    path, port_id = port_stack(service)
    ours(emulated_cloud, "neutron.port", port_id)["name"] = "other"
    service.clock.advance(2)
    run(service)
    emulated_cloud.emulation.request_counts.clear()
    before = outcomes("network", "widened")
    for number in range(10_000):
        notify_port(service, f"flood-{number}")
    assert outcomes("network", "widened") - before == 8_000
    run(service)
    assert calls(emulated_cloud) == 1
    assert entry(service, path)[:2] == ("port", "MODIFIED")


@pytest.mark.parametrize(
    ("event_type", "payload"),
    [
        ("port.update.end", None),
        ("port.update.end", {"port": {"id": 0.5}}),
        ("instance.update", "text"),
        (None, {}),
        (7, {}),
        (["port.update.end"], {}),
    ],
)
def test_odd_notifications_are_counted_and_logged_once(service, caplog, event_type, payload):
    caplog.set_level(logging.WARNING)
    labels = {"port.update.end": "network", "instance.update": "compute"}
    name = labels.get(event_type, "other") if isinstance(event_type, str) else "other"
    before = outcomes(name, "malformed")
    for _ in range(3):
        service.notifications.receive(event_type, payload, {"project": "odd"})
    assert outcomes(name, "malformed") - before == 3
    assert sum("malformed notification" in each.message for each in caplog.records) == 1
    assert service.notifications.tick() is None


def test_lines_about_odd_notifications_are_bounded(service, caplog):
    caplog.set_level(logging.WARNING)
    for number in range(1000):
        service.notifications.receive(f"instance.odd{number}", {}, "p")
    assert sum("malformed notification" in each.message for each in caplog.records) == 200


def test_deleted_resource_is_observed_without_a_poll(service, emulated_cloud):
    path = create_stack(service, template(port=port(), server=server()))
    watch(service)
    server_id = physical_id(service, path, "server")
    emulated_cloud.emulation.collection("nova.server").remove(server_id)
    service.clock.advance(2)
    run(service)
    data = {"nova_object.data": {"uuid": server_id, "tenant_id": PROJECT}}
    service.notifications.receive("instance.delete.end", data, PROJECT)
    run(service)
    assert entry(service, path)[:2] == ("server", "DELETED")


def test_dependent_starts_when_its_requirement_is_announced(service, emulated_cloud, monkeypatch):
    """The next poll of the volume is seconds away without the notification."""
    monkeypatch.setattr(cinder_api, "CREATE_TIME_S", 60.0)
    late = {"type": "OS::Heat::Value", "properties": {"value": "x"}, "depends_on": "volume"}
    volume = {"type": "OS::Cinder::Volume", "properties": {"size": 1}}
    request = {"stack_name": "s", "template": template(volume=volume, late=late)}
    answer = service.send("POST", "/stacks", request, leave_pending=True)
    service.run_due_work()
    ready_at = service.clock() + timedelta(seconds=60.5)
    sweeps = service.services.store.sweeps
    while (next_poll_at := sweeps.get_next_observation_time()) < ready_at:
        service.clock.advance((next_poll_at - service.clock()).total_seconds())
        service.observer.tick()
    service.clock.advance((ready_at - service.clock()).total_seconds())
    (found,) = emulated_cloud.bodies("cinder.volume")
    payload = {"volume_id": found["id"], "tenant_id": PROJECT}
    service.notifications.receive("volume.create.end", payload, PROJECT)
    run(service)
    service.run_due_work()
    path = f"/stacks/s/{answer.json['stack']['id']}"
    shown = service.send("GET", path, leave_pending=True).json["stack"]
    assert shown["stack_status"] == "CREATE_COMPLETE"
    assert service.clock() < next_poll_at


def test_hints_wait_while_the_database_is_unavailable(service, emulated_cloud, monkeypatch):
    path, port_id = port_stack(service)
    ours(emulated_cloud, "neutron.port", port_id)["name"] = "other"
    service.clock.advance(2)
    notify_port(service, port_id)

    def fail(*_args):
        raise Unavailable("no database")

    with monkeypatch.context() as patched:
        store = type(service.services.store.sweeps)
        patched.setattr(store, "advance_observations", fail)
        service.notifications.tick()
    service.clock.advance(1)
    run(service)
    assert entry(service, path)[:2] == ("port", "MODIFIED")
