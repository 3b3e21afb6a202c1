"""Ids of another project's objects, in documents and templates, change nothing of them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from heat_convergence.api.services import ApiOptions
from tests.functional.harness import LocalService

Json = Any
VERSION = {"heat_template_version": "2018-08-31"}
GROUP = {
    "type": "OS::Heat::AutoScalingGroup",
    "properties": {"min_size": 1, "max_size": 3, "resource": {"type": "OS::Heat::None"}},
}
VICTIM = {**VERSION, "resources": {"group": GROUP}}


@pytest.fixture
def service(tmp_path: Path) -> Iterator[LocalService]:
    options = ApiOptions(enable_stack_adopt=True, enable_stack_abandon=True)
    service = LocalService(f"sqlite:///{tmp_path}/hc.sqlite", options)
    yield service
    service.close()


def create(service: LocalService, project: str, template: Json, **body: Json) -> str:
    """Path of a new stack below the project."""
    sent = {"stack_name": "s", "template": template, **body}
    stack = service.send("POST", "/stacks", sent, project=project).json["stack"]
    return f"/stacks/s/{stack['id']}"


def show(service: LocalService, project: str, path: str) -> Json:
    return service.send("GET", path, project=project).json


def victim_group(service: LocalService) -> tuple[str, str]:
    """Path of the group's nested stack in project q, and its id."""
    path = create(service, "q", VICTIM)
    links = show(service, "q", f"{path}/resources/group")["resource"]["links"]
    (nested,) = [each["href"] for each in links if each["rel"] == "nested"]
    return nested.split("/v1/q", 1)[1], nested.rpartition("/")[2]


def members(service: LocalService, nested_path: str) -> list[tuple[str, str]]:
    found = show(service, "q", f"{nested_path}/resources")["resources"]
    return [(each["resource_name"], each["resource_status"]) for each in found]


def test_an_adopted_nested_stack_is_not_that_of_another_project(service: LocalService) -> None:
    nested_path, nested_id = victim_group(service)
    before = members(service, nested_path)
    document = {
        "template": VICTIM,
        "resources": {"group": {"resource_id": nested_id, "resource_data": {}, "type": "x"}},
    }
    path = create(service, "p", VICTIM, adopt_stack_data=document)
    assert show(service, "p", path)["stack"]["stack_status"] == "ADOPT_FAILED"
    assert show(service, "p", f"{path}/resources/group")["resource"]["physical_resource_id"] == ""
    assert service.send("DELETE", path, project="p").status_int == 204
    assert members(service, nested_path) == before
    assert show(service, "q", nested_path)["stack"]["stack_status"] == "CREATE_COMPLETE"


def test_a_scaling_policy_does_not_scale_the_group_of_another_project(
    service: LocalService,
) -> None:
    nested_path, nested_id = victim_group(service)
    before = members(service, nested_path)
    policy = {
        "type": "OS::Heat::ScalingPolicy",
        "properties": {
            "auto_scaling_group_id": nested_id,
            "adjustment_type": "change_in_capacity",
            "scaling_adjustment": 1,
        },
    }
    path = create(service, "p", {**VERSION, "resources": {"policy": policy}})
    answer = service.send("POST", f"{path}/resources/policy/signal", {}, project="p")
    assert answer.status_int == 404
    assert members(service, nested_path) == before


def test_a_snapshot_of_another_project_is_not_found(service: LocalService) -> None:
    foreign = create(service, "q", VERSION)
    taken = service.send("POST", f"{foreign}/snapshots", {"name": "n"}, project="q").json
    own = create(service, "p", VERSION)
    for method, suffix in (("GET", ""), ("DELETE", ""), ("POST", "/restore")):
        for path in (own, foreign):
            found = service.send(method, f"{path}/snapshots/{taken['id']}{suffix}", project="p")
            assert found.status_int == 404
    assert len(show(service, "q", f"{foreign}/snapshots")["snapshots"]) == 1


def test_a_deployment_refers_to_no_configuration_of_another_project(service: LocalService) -> None:
    def config(project: str) -> str:
        answer = service.send("POST", "/software_configs", {"name": "n"}, project=project)
        return str(answer.json["software_config"]["id"])

    own, foreign = config("p"), config("q")
    body = {"config_id": foreign, "server_id": "server"}
    refused = service.send("POST", "/software_deployments", body, project="p")
    missing = service.send("POST", "/software_deployments", {**body, "config_id": "x"})
    assert (refused.status_int, missing.status_int) == (404, 404)
    assert refused.text == missing.text.replace("with id x ", f"with id {foreign} ")
    stored = service.send("POST", "/software_deployments", {**body, "config_id": own}).json
    path = f"/software_deployments/{stored['software_deployment']['id']}"
    assert service.send("PUT", path, {"config_id": foreign}).status_int == 404
    assert service.send("PUT", path, {"status": "FAILED"}, project="q").status_int == 404
