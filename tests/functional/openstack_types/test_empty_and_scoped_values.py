"""Empty texts and names with a domain in properties of OpenStack resources."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from heat_convergence.common.errors import EntityNotFound
from heat_convergence.convergence.model.action import Action
from heat_convergence.resources.catalog import custom_constraints
from heat_convergence.resources.driver import request_cloud
from heat_convergence.resources.protocol.verb_values import ResourceContext
from tests.functional.openstack_types.driver_bench import DriverBench

Json = Any


@pytest.fixture
def bench() -> DriverBench:
    return DriverBench()


# -- subnets without a gateway


def make_subnet(bench: DriverBench, **properties: Json) -> ResourceContext:
    net = bench.create(bench.context("OS::Neutron::Net", {}))
    cidr = {"network": net.physical_id, "cidr": "10.90.0.0/24"}
    return bench.create(bench.context("OS::Neutron::Subnet", {**cidr, **properties}))


def gateway(bench: DriverBench, subnet: ResourceContext) -> Json:
    body = bench.emulation.collection("neutron.subnet").get(str(subnet.physical_id))
    assert body is not None
    return body.body["gateway_ip"]


def test_subnet_is_created_without_a_gateway(bench: DriverBench) -> None:
    assert gateway(bench, make_subnet(bench, gateway_ip="")) is None
    assert gateway(bench, make_subnet(bench)) == "10.90.0.1"


@pytest.mark.parametrize("after", [{"gateway_ip": ""}, {}], ids=["empty", "removed"])
def test_update_removes_the_gateway(bench: DriverBench, after: Json) -> None:
    subnet = make_subnet(bench, gateway_ip="10.90.0.9")
    kept = {name: each for name, each in subnet.properties.items() if name != "gateway_ip"}
    context = replace(subnet, action=Action.UPDATE)
    changed = frozenset({"gateway_ip"})
    bench.registry.get(subnet.type).update(context, {**kept, **after}, changed)
    assert gateway(bench, subnet) is None


# -- users, groups, projects and roles of a domain


@pytest.fixture
def domains(bench: DriverBench) -> dict[str, str]:
    """Add objects of one name to two domains; return ``entity domain`` → id."""
    ids = {}
    for domain in ("east", "west"):
        domain_id = bench.emulation.add("keystone.domain", name=domain)["id"]
        ids[f"domain {domain}"] = domain_id
        for entity in ("user", "group", "project", "role"):
            body = bench.emulation.add(f"keystone.{entity}", name="same", domain_id=domain_id)
            ids[f"{entity} {domain}"] = body["id"]
    return ids


@pytest.mark.parametrize("form", ["same{west}", "same{ID}"], ids=["by_name", "by_id"])
def test_names_with_a_domain_are_resolved_in_it(
    bench: DriverBench, domains: dict[str, str], form: str
) -> None:
    text = form.replace("ID", domains["domain west"])
    properties = {"roles": [{"role": text, "project": text}], "groups": [text]}
    user = bench.create(bench.context("OS::Keystone::User", {"name": "new", **properties}))
    project, role, group = (domains[f"{each} west"] for each in ("project", "role", "group"))
    calls = [key for key in bench.emulation.request_counts if key.startswith("PUT identity")]
    assert sorted(calls) == [
        f"PUT identity /groups/{group}/users/{user.physical_id}",
        f"PUT identity /projects/{project}/users/{user.physical_id}/roles/{role}",
    ]


@pytest.mark.parametrize("assignee", ["User", "Group"])
def test_role_assignments_take_names_with_a_domain(
    bench: DriverBench, domains: dict[str, str], assignee: str
) -> None:
    properties = {
        assignee.lower(): "same{east}",
        "roles": [{"role": "same{east}", "domain": "east"}],
    }
    bench.create(bench.context(f"OS::Keystone::{assignee}RoleAssignment", properties))
    own_id, role = domains[f"{assignee.lower()} east"], domains["role east"]
    path = f"/domains/{domains['domain east']}/{assignee.lower()}s/{own_id}/roles/{role}"
    assert bench.emulation.request_counts[f"PUT identity {path}"] == 1


def test_constraints_take_names_with_a_domain(bench: DriverBench, domains: dict[str, str]) -> None:
    checks = custom_constraints.load_custom_constraints(bench.registry)
    with request_cloud.use_request_cloud(bench.cloud):
        for entity in ("user", "group", "project", "role"):
            check = checks[f"keystone.{entity}"]
            assert check("same{east}") is None, entity
            assert "other{east}" in str(check("other{east}"))
            assert "north" in str(check("same{north}"))
            assert "Multiple" in str(check("same"))


def test_name_of_another_domain_is_not_found(bench: DriverBench, domains: dict[str, str]) -> None:
    bench.emulation.add("keystone.user", name="only", domain_id=domains["domain east"])
    context = bench.context("OS::Keystone::UserRoleAssignment", {"user": "only{west}"})
    with pytest.raises(EntityNotFound):
        bench.create(context)
