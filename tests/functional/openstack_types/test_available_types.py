"""The names of resource types: those that a user may use, and names that stand for types."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from types import SimpleNamespace
from typing import Any

import pytest

from heat_convergence.api.app import build_app
from heat_convergence.clients.circuit_breaker import CircuitBreakers
from heat_convergence.clients.rest_client import RequestLimiter, SdkCloudClient
from heat_convergence.common.clock import utc_now
from heat_convergence.resources.driver.service_extensions import RETRY_AFTER, ServiceExtensions
from heat_convergence.template.environment.environment import Environment
from heat_convergence.testing.openstack.emulation import Emulation
from heat_convergence.testing.openstack.http_adapter import connect, create_emulation
from tests.functional.harness import LocalService
from tests.functional.openstack_types.emulated_service import ClockedEmulation, create_stack

Json = Any
ALARM = "OS::Ceilometer::GnocchiResourcesAlarm"


def template(**resources: Json) -> Json:
    return {"heat_template_version": "2016-10-14", "resources": resources}


def with_environment(service: LocalService, registry: Json) -> None:
    operator = Environment.parse({"resource_registry": registry})
    service.services = replace(service.services, global_environment=operator)
    service.use_application(build_app(service.services))


def listed(service: LocalService, query: str = "") -> list[str]:
    found: list[str] = service.send("GET", f"/resource_types{query}").json["resource_types"]
    return found


def service_of_user(folder: Any, emulation: Emulation, *missing: str) -> LocalService:
    """Return the service as a user calls it whose service catalog lacks services."""
    access = SimpleNamespace(
        connection=connect(emulation, missing_services=frozenset(missing)),
        call_region="RegionOne",
        breakers=CircuitBreakers(),
    )
    delegation: Any = SimpleNamespace(request_cloud=lambda _requester: access)
    service = LocalService(f"sqlite:///{folder}/hc.sqlite")
    service.services = replace(service.services, delegation=delegation)
    service.use_application(build_app(service.services))
    return service


def test_types_of_missing_services_are_left_out(tmp_path: Any) -> None:
    emulation = create_emulation()
    every_type = set(listed(LocalService(f"sqlite:///{tmp_path}/all.sqlite")))
    available = set(listed(service_of_user(tmp_path, emulation, "key_manager", "workflow")))
    prefixes = ("OS::Barbican::", "OS::Mistral::")
    assert every_type - available == {name for name in every_type if name.startswith(prefixes)}
    assert "OS::Barbican::Secret" in every_type
    assert dict(emulation.request_counts) == {
        "GET network /extensions": 1,
        "GET block_storage /extensions": 1,
    }


TAP = {
    "type": "OS::Neutron::TaaS::TapService",
    "properties": {"port": "p"},
}


def test_types_of_missing_extensions_are_left_out_and_refused(tmp_path: Any) -> None:
    emulation = create_emulation()
    every_type = set(listed(service_of_user(tmp_path, emulation)))
    emulation.missing_extensions |= {"taas", "encryption"}
    service = service_of_user(tmp_path, emulation)
    assert every_type - set(listed(service)) == {
        "OS::Cinder::EncryptedVolumeType",
        "OS::Neutron::TaaS::TapFlow",
        "OS::Neutron::TaaS::TapService",
    }
    body = {"stack_name": "s", "template": template(tap=TAP)}
    error = service.send("POST", "/stacks", body).json["error"]
    assert error["type"] == "ResourceTypeUnavailable"
    assert error["message"].startswith(
        "HEAT-E99001 Service neutron is not available for resource type"
        " OS::Neutron::TaaS::TapService, reason: Required extension taas in neutron service is"
        " not available."
    )


def test_list_of_extensions_is_read_again_for_one_that_it_lacks(tmp_path: Any) -> None:
    emulation, now = create_emulation(), [utc_now()]
    cloud = SdkCloudClient("key", "p", lambda: connect(emulation), RequestLimiter(4))
    extensions = ServiceExtensions(lambda: now[0])
    emulation.missing_extensions.add("taas")
    for _ in range(2):
        assert extensions.lacks(cloud, "network", "taas")
        assert not extensions.lacks(cloud, "network", "trunk")
    assert emulation.request_counts.total() == 1
    emulation.missing_extensions.clear()
    now[0] += RETRY_AFTER
    assert not extensions.lacks(cloud, "network", "taas")
    now[0] += timedelta(days=30)
    assert not extensions.lacks(cloud, "network", "taas")
    assert emulation.request_counts.total() == 2


@pytest.mark.parametrize("status", [403, 404, 500, 503])
def test_failing_list_of_extensions_refuses_no_type(status: int) -> None:
    emulation, now = create_emulation(), [utc_now()]
    emulation.inject_failure("GET", "/extensions$", status)
    cloud = SdkCloudClient("key", "p", lambda: connect(emulation), RequestLimiter(4))
    extensions = ServiceExtensions(lambda: now[0])
    emulation.missing_extensions.add("taas")
    for _ in range(5):  # of one template: the service is asked once
        assert not extensions.lacks(cloud, "network", "taas")
    assert emulation.request_counts.total() <= 1
    now[0] += RETRY_AFTER
    assert extensions.lacks(cloud, "network", "taas") or status == 503


def test_former_names_of_types_are_created(
    service: LocalService, emulated_cloud: ClockedEmulation
) -> None:
    network = {"type": "OS::Quantum::Net", "properties": {"name": "n"}}
    path = create_stack(service, template(net=network))
    assert "n" in {each["name"] for each in emulated_cloud.bodies("neutron.network")}
    (shown,) = service.send("GET", f"{path}/resources").json["resources"]
    assert shown["resource_type"] == "OS::Quantum::Net"
    # The same type under its own name replaces nothing.
    network["type"] = "OS::Neutron::Net"
    before = shown["physical_resource_id"]
    assert service.send("PUT", path, {"template": template(net=network)}).status_int == 202
    (shown,) = service.send("GET", f"{path}/resources").json["resources"]
    assert shown["physical_resource_id"] == before


def test_former_names_are_listed_and_shown(service: LocalService) -> None:
    names = listed(service)
    assert ALARM in names
    assert names == sorted(names)
    assert "OS::Ceilometer::CombinationAlarm" not in names  # stands for a hidden type
    shown = service.send("GET", f"/resource_types/{ALARM}").json
    own = service.send("GET", f"/resource_types/{ALARM.replace('Ceilometer', 'Aodh')}").json
    assert shown == {**own, "resource_type": ALARM}
    generated = service.send("GET", f"/resource_types/{ALARM}/template?template_type=hot").json
    assert generated["resources"]["GnocchiResourcesAlarm"]["type"] == ALARM


def test_names_of_the_operator_are_listed(service: LocalService) -> None:
    registry = {
        "My::Value": "OS::Heat::Value",
        "My::Other": "My::Value",
        "My::Unknown": "No::Such",
        "My::Ring": "My::Circle",
        "My::Circle": "My::Ring",
        "Mine::*": "OS::Heat::*",
    }
    with_environment(service, registry)
    assert listed(service, "?name=M") == ["My::Other", "My::Value"]
    assert ALARM in listed(service)


@pytest.mark.parametrize("target", ["OS::Heat::Value", None])
def test_entries_take_precedence_over_former_names(
    service: LocalService, target: str | None
) -> None:
    body = {
        "stack_name": "s",
        "template": template(a={"type": "OS::Quantum::Net"}),
        "environment": {"resource_registry": {"OS::Quantum::Net": target}},
    }
    answer = service.send("POST", "/stacks", body)
    if target is None:
        assert answer.json["error"]["message"].startswith(
            "The Resource Type (OS::Quantum::Net) could not be found."
        )
    else:  # it lacks the property of the type that it stands for
        assert "Property value not assigned" in answer.json["error"]["message"]
