"""Stabilization windows: a stack is complete when its resources have been healthy for a while."""

from __future__ import annotations

import json
from typing import Any

import pytest

from heat_convergence.cli.components.operator_environment import load_operator_environment
from heat_convergence.cli.openstack_commands.progress import _rows
from heat_convergence.template.limits import DEFAULT_LIMITS
from tests.functional.openstack_types.emulated_service import port, server, stack_state, template

Json = Any
NETWORK = {"port": port(), "server": server()}


def window(seconds: Json, name: str = "server") -> Json:
    return {"resource_registry": {"resources": {name: {"stabilization": seconds}}}}


def send(service, method: str, path: str, **body: Json) -> Json:
    """Send a request, and run for ten seconds."""
    answer = service.send(method, path, body, leave_pending=True)
    assert answer.status_int in (201, 202), answer.text
    run_for(service, 10)
    return answer


def create(service, **body: Json) -> str:
    """Create a stack, and return its path when all of it is ready."""
    body = {"stack_name": "s", "template": template(**NETWORK), **body}
    return f"/stacks/s/{send(service, 'POST', '/stacks', **body).json['stack']['id']}"


def run_for(service, seconds: int) -> None:
    for _ in range(seconds):
        service.clock.advance(1.0)
        service.run_due_work()


def shown(service, path: str) -> Json:
    return service.send("GET", path, leave_pending=True).json["stack"]


def progress(service, path: str) -> Json:
    return service.send("GET", f"{path}/progress", leave_pending=True).json["progress"]


def body_of_server(emulated_cloud) -> Json:
    (body,) = emulated_cloud.bodies("nova.server")
    return body


def test_stack_is_in_progress_until_its_server_was_healthy_for_the_window(service):
    path = create(service, environment=window(300))
    assert shown(service, path)["stack_status"] == "CREATE_IN_PROGRESS"
    reason = shown(service, path)["stack_status_reason"]
    assert reason.startswith("Stack CREATE waits until 2026-01-01T00:05:")
    assert reason.endswith("when its resources have been healthy for 300 seconds")
    found = progress(service, path)
    assert found["jobs"] == {}
    assert found["stabilization"]["window"] == 300
    assert found["stabilization"]["until"] in reason
    (row,) = _rows(found)
    assert row == ("s", "", "STABILIZING", reason)
    run_for(service, 285)
    assert shown(service, path)["stack_status"] == "CREATE_IN_PROGRESS"
    run_for(service, 20)
    assert shown(service, path)["stack_status"] == "CREATE_COMPLETE"
    assert progress(service, path)["stabilization"] is None


def test_server_that_fails_in_the_window_fails_the_stack(service, emulated_cloud):
    path = create(service, environment=window({"window": 300}))
    body_of_server(emulated_cloud).update(status="ERROR", fault={"message": "no more", "code": 5})
    state = stack_state(service, path)
    assert state.startswith("CREATE_FAILED: Resource CREATE failed: ResourceInError: ")
    assert "resources.server: " in state
    assert state.endswith("(in the stabilization window)")
    resource = service.send("GET", f"{path}/resources/server").json["resource"]
    assert resource["resource_status"] == "CREATE_FAILED"
    found = progress(service, path)["first_failure"]
    assert found["path"] == "server"


def test_server_with_a_stopped_machine_is_not_healthy(service, emulated_cloud):
    path = create(service, environment=window(60), disable_rollback=False)
    body_of_server(emulated_cloud)["OS-EXT-STS:power_state"] = 4
    assert stack_state(service, path) == "ROLLBACK_COMPLETE"
    assert emulated_cloud.bodies("nova.server") == []
    events = service.send("GET", f"{path}/events").json["events"]
    reasons = [each["resource_status_reason"] for each in events]
    reason = "ResourceUnhealthy: resources.server: it is not healthy any more"
    assert any(reason in each for each in reasons)


def test_failed_update_is_rolled_back_and_spares_what_it_has_not_changed(service, emulated_cloud):
    path = create(service)
    assert stack_state(service, path) == "CREATE_COMPLETE"
    before = body_of_server(emulated_cloud)
    changed = template(**{**NETWORK, "port": port(name="other")})
    body = {"template": changed, "environment": window(60), "disable_rollback": False}
    send(service, "PUT", path, **body)
    assert shown(service, path)["stack_status"] == "UPDATE_IN_PROGRESS"
    before["OS-EXT-STS:power_state"] = 4
    assert stack_state(service, path) == "ROLLBACK_COMPLETE"
    assert body_of_server(emulated_cloud) is not None
    assert body_of_server(emulated_cloud)["id"] == before["id"]


def test_service_that_does_not_answer_fails_nothing(service, emulated_cloud):
    path = create(service, environment=window(60))
    emulated_cloud.emulation.inject_failure("GET", "/servers", 503, times=2)
    run_for(service, 40)
    assert shown(service, path)["stack_status"] == "CREATE_IN_PROGRESS"
    assert stack_state(service, path) == "CREATE_COMPLETE"


def test_update_in_the_window_starts_at_once_and_ends_the_reads(service):
    path = create(service, environment=window(300))
    send(service, "PUT", path, template=template(port=port()))
    assert shown(service, path)["stack_status"] == "UPDATE_COMPLETE"
    assert service._due_s() is None


def test_update_that_changes_nothing_has_no_window(service):
    path = create(service, environment=window(60))
    assert stack_state(service, path) == "CREATE_COMPLETE"
    send(service, "PUT", path, template=template(**NETWORK), environment=window(60))
    assert shown(service, path)["stack_status"] == "UPDATE_COMPLETE"


def test_window_of_a_nested_stack_delays_its_parent(service):
    nested = {"heat_template_version": "2016-10-14",
              "resources": {"net": {"type": "OS::Neutron::Net"}}}  # fmt: skip
    parent = {"heat_template_version": "2016-10-14", "resources": {"child": {"type": "n.yaml"}}}
    inner = {"child": {"stabilization": 900, "*": {"stabilization": 60}}}
    path = create(
        service,
        template=parent,
        files={"n.yaml": json.dumps(nested)},
        environment={"resource_registry": {"resources": inner}},
    )
    assert shown(service, path)["stack_status"] == "CREATE_IN_PROGRESS"
    run_for(service, 70)
    assert shown(service, path)["stack_status"] == "CREATE_COMPLETE"


@pytest.mark.parametrize("value", ["soon", -1, 86401, True, {"windw": 3}, {"window": "3"}])
def test_wrong_window_is_refused_with_its_place(service, value):
    body = {"stack_name": "s", "template": template(), "environment": window(value)}
    answer = service.send("POST", "/stacks", body)
    assert answer.status_int == 400
    assert "resource_registry.resources.server.stabilization" in answer.text


def test_window_that_is_no_shorter_than_the_timeout_is_refused(service):
    body = {"stack_name": "s", "template": template(**NETWORK), "timeout_mins": 5}
    refused = [
        service.send("POST", "/stacks", {**body, "environment": window(300)}),
        service.send("POST", "/stacks/preview", {**body, "environment": window(300)}),
    ]
    path = create(service, **{**body, "environment": window(200)})
    run_for(service, 310)
    for place in (path, f"{path}/preview"):
        refused.append(service.send("PUT", place, {**body, "environment": window(7200)}))
    refused.append(service.send("PATCH", path, {"timeout_mins": 3}))
    for answer, (seconds, timeout) in zip(
        refused, [(300, 300), (300, 300), (7200, 300), (7200, 300), (200, 180)], strict=True
    ):
        assert answer.status_int == 400, answer.text
        assert f"window of {seconds} seconds" in answer.text
        assert f"which is {timeout} seconds" in answer.text
        assert "resources.server" in answer.text
    assert shown(service, path)["stack_status"] == "CREATE_COMPLETE"


@pytest.mark.parametrize(("timeout_mins", "window_s"), [(1, 60), (120, 3600)])
def test_window_of_a_nested_stack_is_held_against_the_shorter_timeout(
    service, timeout_mins, window_s
):
    """Refuse windows that the nested stack's timeout ends, or that of its parent."""
    nested = {"heat_template_version": "2016-10-14",
              "resources": {"net": {"type": "OS::Neutron::Net"}}}  # fmt: skip
    properties = {"TemplateURL": "n.yaml", "TimeoutInMinutes": timeout_mins}
    child = {"type": "AWS::CloudFormation::Stack", "properties": properties}
    body = {
        "stack_name": "s",
        "template": {"heat_template_version": "2016-10-14", "resources": {"child": child}},
        "files": {"n.yaml": json.dumps(nested)},
        "environment": {
            "resource_registry": {"resources": {"child": {"*": {"stabilization": 0}}}}
        },
    }
    entries = body["environment"]["resource_registry"]["resources"]["child"]["*"]
    entries["stabilization"] = window_s
    answer = service.send("POST", "/stacks", body)
    assert answer.status_int == 400
    assert f"window of {window_s} seconds" in answer.text
    assert "resources.child" in answer.text
    entries["stabilization"] = window_s - 1
    assert service.send("POST", "/stacks", body).status_int == 201


def test_operator_sets_the_window_of_root_stacks_and_users_override_it(tmp_path):
    operator = load_operator_environment(str(tmp_path), limits=DEFAULT_LIMITS, stabilization_s=30)
    assert operator is not None
    assert operator.registry.stabilization_s("any") == 30
    user = type(operator).parse(window(0), base=operator)
    assert user.registry.hooks_and_restrictions("server") == frozenset()
    assert user.registry.hooks_and_restrictions("other") == {"stabilization=30"}
    assert user.registry.for_nested_stack("other").stabilization_s("x") == 0
