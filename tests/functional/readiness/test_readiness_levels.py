"""Readiness levels: dependents start when a requirement is usable, or healthy on demand."""

from __future__ import annotations

from typing import Any

from tests.functional.openstack_types.emulated_service import create_stack, stack_state, template

Json = Any
ZONE = "designate.zone"


def dns(**zone: Json) -> Json:
    properties = {"zone": {"get_resource": "zone"}, "name": "www", "type": "A",
                  "records": ["192.0.2.1"]}  # fmt: skip
    return {
        "heat_template_version": "2021-04-16",
        "resources": {
            "zone": {
                "type": "OS::Designate::Zone",
                "properties": {"name": "example.org.", "email": "a@example.org"},
                **zone,
            },
            "www": {"type": "OS::Designate::RecordSet", "properties": properties},
        },
    }


def environment(name: str, value: Json) -> Json:
    return {"resource_registry": {"resources": {name: {"readiness": value}}}}


def event_order(service, path) -> list[str]:
    """Return the events of resources, the oldest first."""
    events = service.send("GET", f"{path}/events").json["events"]
    shown = sorted(events, key=lambda each: each["id"])
    return [
        f"{each['resource_name']} {each['resource_status'].removeprefix('CREATE_')}"
        for each in shown
        if each["resource_name"] in ("zone", "www")
    ]


EARLY = ["zone IN_PROGRESS", "www IN_PROGRESS", "zone COMPLETE", "www COMPLETE"]
LATE = ["zone IN_PROGRESS", "zone COMPLETE", "www IN_PROGRESS", "www COMPLETE"]


def test_record_set_is_created_while_its_zone_is_pending(service):
    path = create_stack(service, dns())
    assert sorted(event_order(service, path)[:2]) == sorted(EARLY[:2])
    assert sorted(event_order(service, path)) == sorted(EARLY)


def test_user_may_demand_that_the_zone_is_active_first(service):
    path = create_stack(service, dns(), environment=environment("zone", "active"))
    assert event_order(service, path) == LATE


def test_dependency_that_the_template_names_waits_until_the_zone_is_active(service):
    new_template = dns()
    new_template["resources"]["www"]["depends_on"] = "zone"
    assert event_order(service, create_stack(service, new_template)) == LATE


def test_unknown_level_is_refused_with_its_place(service):
    body = {"stack_name": "s", "template": dns(), "environment": environment("zone", "helthy")}
    answer = service.send("POST", "/stacks", body)
    assert answer.status_int == 400
    assert "resource_registry.resources.zone.readiness" in answer.text
    assert "did you mean" in answer.text.lower()


def pool_member(**extra: Json) -> Json:
    member = {"pool": {"get_resource": "pool"}, "address": "10.90.0.9", "protocol_port": 80}
    return template(
        balancer={
            "type": "OS::Octavia::LoadBalancer",
            "properties": {"vip_subnet": {"get_resource": "subnet"}},
        },
        pool={
            "type": "OS::Octavia::Pool",
            "properties": {
                "loadbalancer": {"get_resource": "balancer"},
                "protocol": "HTTP",
                "lb_algorithm": "ROUND_ROBIN",
            },
        },
        member={"type": "OS::Octavia::PoolMember", "properties": member},
        after={"type": "OS::Heat::RandomString", "depends_on": "member"},
        **extra,
    )


def test_member_is_complete_when_it_is_online_if_health_is_demanded(service, emulated_cloud):
    created: list[Any] = []

    def create(_emulation, item) -> None:
        item.body.update(provisioning_status="ACTIVE", operating_status="OFFLINE")
        created.append(item)

    emulated_cloud.emulation.on_create("octavia.member", create)
    body = {
        "stack_name": "s",
        "template": pool_member(),
        "environment": environment("member", "healthy"),
    }
    answer = service.send("POST", "/stacks", body, leave_pending=True)
    path = f"/stacks/s/{answer.json['stack']['id']}"
    for _ in range(20):
        service.clock.advance(1.0)
        service.run_due_work()
    assert shown(service, path, "member") == "CREATE_IN_PROGRESS"
    assert shown(service, path, "after") == "INIT_COMPLETE"
    created[0].body["operating_status"] = "ONLINE"
    assert stack_state(service, path) == "CREATE_COMPLETE"


def shown(service, path, name) -> str:
    """Return the status of a resource while the stack is under way."""
    answer = service.send("GET", f"{path}/resources/{name}", leave_pending=True)
    return str(answer.json["resource"]["resource_status"])
