"""The check of plans against the quotas of services."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from heat_convergence.testing.openstack.emulation import EmulatedResponse
from tests.functional.openstack_types.emulated_service import (
    create_stack,
    port,
    server,
    template,
)
from tests.functional.plans.plan_cases import make_plan
from tests.functional.user_clouds import let_requests_use

Json = Any


@pytest.fixture
def user_cloud(emulated_cloud, monkeypatch):
    """Let requests use the emulated cloud as that of their users."""
    let_requests_use(monkeypatch, emulated_cloud)
    return emulated_cloud


def volume(size: int) -> Json:
    return {"type": "OS::Cinder::Volume", "properties": {"size": size}}


def everything(**extra: Json) -> Json:
    address = {"type": "OS::Neutron::FloatingIP", "properties": {"floating_network": "public"}}
    return template(port=port(), server=server(), disk=volume(3), address=address, **extra)


def quotas(plan: Json) -> dict[str, tuple[Json, ...]]:
    return {
        each["quota"]: (each["needed"], each["released"], each["used"], each["limit"])
        for each in plan["quotas"]
    }


def set_quota(emulated_cloud: Any, entity: str, **limits: int) -> None:
    emulated_cloud.emulation.collection(entity).add({"id": "p", **limits})


def test_needs_of_all_services_are_compared_with_limits(service, user_cloud):
    set_quota(user_cloud, "nova.quota", instances=10, cores=20, ram=1000)
    set_quota(user_cloud, "cinder.quota", volumes=5, gigabytes=100)
    set_quota(user_cloud, "neutron.quota", port=50, floatingip=2)
    plan = make_plan(service, "", {"stack_name": "new", "template": everything()})
    assert quotas(plan) == {
        "instances": (1, 0, 0, 10),
        "cores": (1, 0, 0, 20),
        "ram": (64, 0, 0, 1000),
        "ports": (1, 0, 0, 50),
        "floating_ips": (1, 0, 0, 2),
        "volumes": (1, 0, 0, 5),
        "gigabytes": (3, 0, 0, 100),
    }
    assert plan["summary"]["quota_status"] == "sufficient"


def test_exceeded_quota_is_shown_before_anything_is_touched(service, user_cloud):
    set_quota(user_cloud, "cinder.quota", volumes=5, gigabytes=2)
    plan = make_plan(service, "", {"stack_name": "new", "template": everything()})
    exceeded = [each["quota"] for each in plan["quotas"] if each["status"] == "exceeded"]
    assert exceeded == ["gigabytes"]
    assert plan["summary"]["quota_status"] == "exceeded"
    assert user_cloud.bodies("cinder.volume") == []


def test_requests_do_not_grow_with_the_plan(service, user_cloud):
    disks = {f"disk{number}": volume(1) for number in range(30)}
    servers = {f"s{number}": server(networks=[{"network": "public"}]) for number in range(20)}
    body = {"stack_name": "new", "template": everything(**disks, **servers)}
    user_cloud.emulation.request_counts.clear()
    plan = make_plan(service, "", body)
    assert quotas(plan)["instances"][0] == 21
    assert quotas(plan)["ports"][0] == 21
    counts = user_cloud.emulation.request_counts
    quota_requests = {key: counts[key] for key in counts if "limits" in key or "quotas" in key}
    assert sorted(quota_requests.values()) == [1, 1, 1]
    assert counts["GET compute /flavors/detail"] == 2  # the other one by the validation


def test_replacement_needs_both_and_releases_one(service, user_cloud):
    path = create_stack(service, everything())
    body = everything()
    body["resources"]["port"]["properties"]["mac_address"] = "fa:16:3e:00:00:01"
    body["resources"]["disk"] = volume(5)
    del body["resources"]["address"]
    plan = make_plan(service, path, {"template": body})
    found = quotas(plan)
    assert found["ports"][:3] == (1, 1, 1)
    assert found["gigabytes"][:3] == (2, 0, 3)
    assert found["floating_ips"][:3] == (0, 1, 1)
    assert "instances" not in found


def break_volumes(emulated_cloud: Any) -> None:
    emulated_cloud.emulation.inject_failure("GET", "/limits", 500, times=10)


def forget_quotas(emulated_cloud: Any) -> None:
    emulated_cloud.emulation.add_handlers("compute", [("GET", "/limits", answer_nonsense)])
    emulated_cloud.emulation.add_handlers("block_storage", [("GET", "/limits", answer_nonsense)])


def answer_nonsense(_emulation: Any, _request: Any) -> Any:
    return EmulatedResponse(200, {"limits": {"absolute": []}})


@pytest.mark.parametrize("prepare", [break_volumes, forget_quotas])
def test_service_that_does_not_answer_leaves_quotas_unknown(
    service, user_cloud, prepare: Callable[[Any], None]
):
    prepare(user_cloud)
    plan = make_plan(service, "", {"stack_name": "new", "template": everything()})
    statuses = {each["quota"]: each["status"] for each in plan["quotas"]}
    assert statuses["gigabytes"] == "unknown"
    assert statuses["ports"] == "sufficient"
    assert plan["summary"]["quota_status"] == "unknown"
    assert all(each["reason"] for each in plan["quotas"] if each["status"] == "unknown")


def test_without_a_cloud_quotas_are_unknown(service):
    plan = make_plan(service, "", {"stack_name": "new", "template": everything()})
    assert {each["status"] for each in plan["quotas"]} == {"unknown"}
    assert {each["reason"] for each in plan["quotas"]} == {
        "there is no compute service",
        "there is no network service",
        "there is no block_storage service",
    }
