"""Notifications and metrics of drift, repairs and mass losses."""

from __future__ import annotations

from typing import Any

import oslo_messaging
import pytest
from prometheus_client import REGISTRY

from heat_convergence.convergence.drift.repair_budget import RepairLimits
from heat_convergence.convergence.drift.settings import DriftSettings
from heat_convergence.rpc.notifications import DriftNotifier
from tests.functional.drift.drift_cases import ours, watch
from tests.functional.openstack_types.emulated_service import (
    create_stack,
    physical_id,
    port,
    template,
)

Json = Any
PAUSE_S = 5.0
NET = {"type": "OS::Neutron::Net", "properties": {"admin_state_up": True}}


class RecordingNotifier:
    """A notifier of oslo.messaging that records what is sent, or fails."""

    def __init__(self) -> None:
        self.sent: list[tuple[str, Json]] = []
        self.is_broken = False
        self.attempts = 0

    def info(self, _context: Json, event_type: str, payload: Json) -> None:
        self.attempts += 1
        if self.is_broken:
            raise oslo_messaging.MessageDeliveryFailure("no broker")
        self.sent.append((event_type, payload))


@pytest.fixture
def notifier() -> RecordingNotifier:
    return RecordingNotifier()


@pytest.fixture
def announcing(service, notifier) -> Any:
    """Return the service, whose watch announces what it finds."""
    announce = DriftNotifier(notifier, "INFO", PAUSE_S, lambda: service.clock().timestamp())
    service.daemon_values = {"announce": announce}
    service.engine, service.observer = service.build_daemons()
    return service


def count(metric: str, **labels: str) -> float:
    return REGISTRY.get_sample_value(f"heat_convergence_{metric}_total", labels) or 0.0


def test_drift_and_its_end_are_announced_without_values(announcing, emulated_cloud, notifier):
    path = create_stack(announcing, template(port=port(name="one")))
    watch(announcing)
    assert notifier.sent == []
    before = count("drift_observations", status="MODIFIED")
    key = physical_id(announcing, path, "port")
    body = ours(emulated_cloud, "neutron.port", key)
    body["name"] = "other"
    watch(announcing)
    body["name"] = "one"
    watch(announcing)
    (detected, shown), (resolved, _) = notifier.sent
    assert detected == "orchestration.drift.detected"
    assert resolved == "orchestration.drift.resolved"
    assert {**shown, "observed_at": None} == {
        "tenant_id": "p",
        "stack_identity": path.rsplit("/", 1)[1],
        "stack_name": "s",
        "resource_name": "port",
        "resource_type": "OS::Neutron::Port",
        "physical_resource_id": key,
        "drift_status": "MODIFIED",
        "drift_reason": "",
        "properties": ["name"],
        "observation_source": "sweep",
        "observed_at": None,
    }
    assert count("drift_observations", status="MODIFIED") == before + 1


def test_repair_is_announced(announcing, emulated_cloud, notifier):
    environment = {"resource_registry": {"resources": {"port": {"drift": "repair"}}}}
    body = template(port=port(name="one"))
    path = create_stack(announcing, body, environment=environment)
    watch(announcing)
    before = count("repairs", status="MODIFIED")
    ended = count("repair_ends", outcome="REPAIRED")
    ours(emulated_cloud, "neutron.port", physical_id(announcing, path, "port"))["name"] = "other"
    watch(announcing)
    payloads = [body for event, body in notifier.sent if event == "orchestration.repair.start"]
    assert payloads == [
        {
            "tenant_id": "p",
            "stack_identity": path.rsplit("/", 1)[1],
            "stack_version": 2,
            "resources": [{"resource_name": "port", "drift_status": "MODIFIED"}],
        }
    ]
    assert count("repairs", status="MODIFIED") == before + 1
    announcing.run_until_idle()
    watch(announcing)
    payloads = [body for event, body in notifier.sent if event == "orchestration.repair.end"]
    assert payloads == [
        {
            "tenant_id": "p",
            "stack_identity": path.rsplit("/", 1)[1],
            "stack_version": 2,
            "resources": [{"resource_name": "port", "repair_outcome": "REPAIRED", "tries": 1}],
        }
    ]
    assert count("repair_ends", outcome="REPAIRED") == ended + 1


def test_failed_repair_is_announced(announcing, emulated_cloud, notifier):
    environment = {"resource_registry": {"resources": {"port": {"drift": "repair"}}}}
    path = create_stack(announcing, template(port=port(name="one")), environment=environment)
    watch(announcing)
    ours(emulated_cloud, "neutron.port", physical_id(announcing, path, "port"))["name"] = "other"
    emulated_cloud.emulation.inject_failure("PUT", "/ports", 403, times=9)
    for _ in range(3):
        watch(announcing)
        announcing.run_until_idle()
    (payload,) = [body for event, body in notifier.sent if event == "orchestration.repair.error"]
    assert payload["resources"][0]["repair_outcome"] == "FAILED"
    (shown,) = announcing.send("GET", f"{path}/drift/repairs").json["repairs"]
    assert shown["repair_outcome"] == "FAILED"
    assert shown["repair_reason"].startswith("Resource UPDATE failed")
    assert shown["ended_at"] is not None


def test_suspended_repairs_are_announced_once(announcing, emulated_cloud, notifier):
    environment = {"resource_registry": {"resources": {"port": {"drift": "repair"}}}}
    announcing.use_settings(drift=DriftSettings(repairs=RepairLimits(tries=1, backoff_s=1.0)))
    announcing.engine, announcing.observer = announcing.build_daemons()
    path = create_stack(announcing, template(port=port(name="one")), environment=environment)
    watch(announcing)
    before = count("suspended_repairs")
    for _ in range(4):
        key = physical_id(announcing, path, "port")
        ours(emulated_cloud, "neutron.port", key)["name"] = "other"
        watch(announcing)
        announcing.run_until_idle()
    payloads = [body for event, body in notifier.sent if event == "orchestration.repair.suspended"]
    reason = "1 repairs have not lasted; the last difference was MODIFIED"
    assert payloads == [
        {
            "tenant_id": "p",
            "stack_identity": path.rsplit("/", 1)[1],
            "resources": [{"resource_name": "port", "tries": 1, "repair_reason": reason}],
        }
    ]
    assert count("suspended_repairs") == before + 1


def test_mass_loss_and_its_end_are_announced(announcing, emulated_cloud, notifier):
    nets = {f"net{number}": NET for number in range(10)}
    create_stack(announcing, {"heat_template_version": "2016-10-14", "resources": nets})
    watch(announcing)
    collection = emulated_cloud.emulation.collection("neutron.network")
    mine = [each for each in collection.bodies() if each["name"].startswith("s-net")]
    assert len(mine) == 10
    for each in mine:
        collection.remove(each["id"])
    watch(announcing)
    for each in mine:
        collection.add(each)
    watch(announcing)
    losses = [each for each in notifier.sent if "mass_loss" in each[0]]
    assert [each[0].removeprefix("orchestration.drift.mass_loss.") for each in losses] == [
        "start",
        "end",
    ]
    assert (losses[0][1]["resource_type"], losses[0][1]["lost"]) == ("OS::Neutron::Net", 10)
    assert not [each for each in notifier.sent if each[0] == "orchestration.drift.detected"]


def test_dead_broker_is_left_alone_for_a_while(announcing, emulated_cloud, notifier):
    nets = {f"net{number}": NET for number in range(3)}
    path = create_stack(announcing, {"heat_template_version": "2016-10-14", "resources": nets})
    watch(announcing)
    bodies = [
        ours(emulated_cloud, "neutron.network", physical_id(announcing, path, name))
        for name in nets
    ]
    notifier.is_broken = True
    for body in bodies:
        body["admin_state_up"] = False
    watch(announcing, 60)
    assert notifier.attempts == 1
    notifier.is_broken = False
    announcing.clock.advance(PAUSE_S)
    bodies[0]["admin_state_up"] = True
    watch(announcing)
    assert [event for event, _ in notifier.sent] == ["orchestration.drift.resolved"]
