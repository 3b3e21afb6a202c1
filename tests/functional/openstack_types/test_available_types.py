"""The list of resource types as a user sees it whose service catalog lacks a service."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

from heat_convergence.api.app import build_app
from heat_convergence.clients.circuit_breaker import CircuitBreakers
from heat_convergence.testing.openstack.http_adapter import connect, create_emulation
from tests.functional.harness import LocalService


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
