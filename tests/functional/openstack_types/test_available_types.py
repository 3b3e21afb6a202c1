"""The names of resource types: those that a user may use, and names that stand for types."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from heat_convergence.api.app import build_app
from heat_convergence.clients.circuit_breaker import CircuitBreakers
from heat_convergence.template.environment.environment import Environment
from heat_convergence.testing.openstack.http_adapter import connect, create_emulation
from tests.functional.harness import LocalService
from tests.functional.openstack_types.emulated_service import ClockedEmulation, create_stack

Json = Any
ALARM = "OS::Ceilometer::GnocchiResourcesAlarm"


def test_types_of_missing_services_are_left_out(tmp_path: Any) -> None:
    missing = frozenset({"key_manager", "workflow"})
    emulation = create_emulation()
    access = SimpleNamespace(
        connection=connect(emulation, missing_services=missing),
        call_region="RegionOne",
        breakers=CircuitBreakers(),
    )
    service = LocalService(f"sqlite:///{tmp_path}/hc.sqlite")
    every_type = set(service.send("GET", "/resource_types").json["resource_types"])
    delegation: Any = SimpleNamespace(request_cloud=lambda _requester: access)
    service.services = replace(service.services, delegation=delegation)
    service.use_application(build_app(service.services))
    available = set(service.send("GET", "/resource_types").json["resource_types"])
    prefixes = ("OS::Barbican::", "OS::Mistral::")
    assert every_type - available == {name for name in every_type if name.startswith(prefixes)}
    assert "OS::Barbican::Secret" in every_type
    assert emulation.request_counts.total() == 0


def template(**resources: Json) -> Json:
    return {"heat_template_version": "2016-10-14", "resources": resources}


def with_environment(service: LocalService, registry: Json) -> None:
    operator = Environment.parse({"resource_registry": registry})
    service.services = replace(service.services, global_environment=operator)
    service.use_application(build_app(service.services))


def listed(service: LocalService, query: str = "") -> list[str]:
    found: list[str] = service.send("GET", f"/resource_types{query}").json["resource_types"]
    return found


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
        "My::Template": "file:///etc/heat/t.yaml",
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
