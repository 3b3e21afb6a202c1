"""``Fn::GetAZs`` fetches the zones once and returns the same ones ever after."""

from __future__ import annotations

import json
from contextlib import nullcontext
from typing import Any

import pytest

from heat_convergence.clients.rest_client import RequestLimiter, SdkCloudClient
from heat_convergence.resources.driver.request_cloud import use_request_cloud
from heat_convergence.testing.openstack.emulation import (
    PROJECT_ID,
    EmulatedResponse,
    Emulation,
    InjectedFailure,
)
from heat_convergence.testing.openstack.http_adapter import connect, create_emulation
from tests.functional.fake_server import assert_refused, get_body, get_outputs
from tests.functional.harness import LocalService

Json = Any
KEPT = {"Type": "OS::Heat::Value", "Properties": {"value": {"Fn::GetAZs": ""}}}


def template(**more: Json) -> dict[str, Json]:
    """Return a CFN template that outputs the availability zones."""
    return {
        "HeatTemplateFormatVersion": "2012-12-12",
        "Resources": {"kept": KEPT, **more},
        "Outputs": {"zones": {"Value": {"Fn::GetAtt": ["kept", "value"]}}},
    }


@pytest.fixture
def emulation() -> Emulation:
    found = create_emulation()
    found.availability_zones = ["west", "east"]
    return found


@pytest.fixture(autouse=True)
def _cloud_of_the_test(monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep the cloud that the test enters: without Keystone a request has none of its own."""
    monkeypatch.setattr(
        "heat_convergence.api.trust_delegation.use_request_cloud", lambda _cloud: nullcontext()
    )


def send(
    service: LocalService, emulation: Emulation, method: str, path: str, body: Json, *missing: str
) -> Any:
    """Send a request with the user's cloud, as the middleware sets it."""
    connection = connect(emulation, missing_services=frozenset(missing))
    with use_request_cloud(SdkCloudClient("k", PROJECT_ID, lambda: connection, RequestLimiter(4))):
        return service.send(method, path, body)


def create(service: LocalService, emulation: Emulation, *missing: str, **body: Json) -> str:
    """Create a stack and return its path."""
    answer = send(service, emulation, "POST", "/stacks", {"stack_name": "s", **body}, *missing)
    assert answer.status_int == 201, answer.text
    return f"/stacks/s/{answer.json['stack']['id']}"


def zones(service: LocalService, path: str) -> Json:
    """Return the zones in the stack's outputs."""
    return get_outputs(service, path)["zones"]


def count_zone_requests(emulation: Emulation) -> int:
    """Return the number of zone requests so far."""
    return sum(n for call, n in emulation.request_counts.items() if "availability" in call)


def test_zones_are_fetched_again_only_with_a_whole_template(
    service: LocalService, emulation: Emulation
) -> None:
    path = create(service, emulation, template=template())
    assert zones(service, path) == ["east", "west"]
    assert count_zone_requests(emulation) == 1
    assert "availability_zones" not in service.send("GET", f"{path}/environment").json

    emulation.availability_zones = ["north"]
    assert send(service, emulation, "PATCH", path, {}).status_int == 202
    assert zones(service, path) == ["east", "west"]
    body = {"template": template()}
    assert send(service, emulation, "PUT", path, body).status_int == 202
    assert zones(service, path) == ["north"]


def test_rollback_uses_the_previous_zones(service: LocalService, emulation: Emulation) -> None:
    path = create(service, emulation, template=template())
    emulation.availability_zones = ["north"]
    bad = {"Type": "OS::Heat::TestResource", "DependsOn": "kept", "Properties": {"fail": True}}
    body = {"template": template(bad=bad), "disable_rollback": False}
    assert send(service, emulation, "PUT", path, body).status_int == 202
    assert get_body(service, path)["stack_status"] == "ROLLBACK_COMPLETE"
    assert zones(service, path) == ["east", "west"]


def test_nested_stacks_use_the_zones_of_their_root(
    service: LocalService, emulation: Emulation
) -> None:
    root = {
        "heat_template_version": "2016-10-14",
        "resources": {"n": {"type": "child.yaml"}},
        "outputs": {"zones": {"value": {"get_attr": ["n", "zones"]}}},
    }
    files = {"child.yaml": json.dumps(template())}
    path = create(service, emulation, template=root, files=files)
    assert zones(service, path) == ["east", "west"]
    assert count_zone_requests(emulation) == 1
    emulation.availability_zones = ["north"]
    body = {"template": root, "files": files}
    assert send(service, emulation, "PUT", path, body).status_int == 202
    assert zones(service, path) == ["north"]


def test_unused_zones_are_not_fetched(service: LocalService, emulation: Emulation) -> None:
    value = {"Type": "OS::Heat::Value", "Properties": {"value": "x"}}
    create(service, emulation, template={**template(), "Resources": {"kept": value}})
    assert count_zone_requests(emulation) == 0


def test_default_zone_without_a_compute_service(
    service: LocalService, emulation: Emulation
) -> None:
    path = create(service, emulation, "compute", template=template())
    assert zones(service, path) == ["nova"]


def test_create_fails_when_the_compute_service_does_not_answer(
    service: LocalService, emulation: Emulation
) -> None:
    emulation.injected_failures.append(
        InjectedFailure("GET", "os-availability-zone", EmulatedResponse(503, {}), remaining=9)
    )
    body = {"stack_name": "s", "template": template()}
    answer = send(service, emulation, "POST", "/stacks", body)
    assert "availability zones" in assert_refused(answer, 400, "StackValidationFailed")
    assert service.send("GET", "/stacks").json["stacks"] == []
