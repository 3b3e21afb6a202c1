"""New OpenStack resources that end in an error state are deleted and created anew.

Every type with a status is driven through two failed tries and a third that becomes ready, on
the emulated cloud.
"""

from __future__ import annotations

import logging
from typing import Any

import pytest

from heat_convergence.resources.aws.resource_types import load_aws_types
from heat_convergence.resources.aws.translated_type import TranslatedType
from heat_convergence.resources.catalog.resource_types import load_resource_types
from heat_convergence.resources.driver.declarative import DeclarativeType
from heat_convergence.testing.openstack.error_state import ErrorState
from tests.conformance.case import ConformanceCase
from tests.conformance.cases.all_cases import CASES
from tests.conformance.emulated_objects import EMULATED_OBJECTS, replace_placeholders
from tests.functional.harness import LocalService
from tests.functional.openstack_types.emulated_service import (
    ClockedEmulation,
    create_stack,
    server,
    stack_state,
    template,
)

Json = Any
LIMIT = 5  # action_retry_limit
SUBJECT = "it"
FAULT = {"message": "No valid host was found.", "code": 500}


def _types_with_status() -> list[DeclarativeType]:
    return [
        resource_type
        for resource_type in load_resource_types()
        if isinstance(resource_type, DeclarativeType)
        and resource_type.spec.status_mapping.body_key is not None
    ]


def _type(name: str) -> DeclarativeType:
    return next(each for each in _types_with_status() if each.name == name)


def _case_of(type_name: str) -> ConformanceCase:
    return next(case for case in CASES if case.type == type_name)


def _in_template(value: Json) -> Json:
    """Return a value of a case in the template's language."""
    if isinstance(value, dict):
        if value.keys() == {"get"}:
            return {"get_resource": value["get"]}
        return {name: _in_template(each) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [_in_template(each) for each in value]
    return replace_placeholders(value, EMULATED_OBJECTS)


def _template_of(case: ConformanceCase) -> Json:
    # A prerequisite of the tested type would end in the error state in place of the resource.
    resources = {
        name: {"type": type_name, "properties": _in_template(dict(properties))}
        for name, type_name, properties in case.prerequisites
        if type_name != case.type
    }
    resources[SUBJECT] = {
        "type": case.type,
        "properties": _in_template(dict(case.properties)),
        "depends_on": [*resources],
    }
    return {"heat_template_version": "2016-10-14", "resources": resources}


def _error_state(resource_type: DeclarativeType, times: int, after_s: float = 0.0) -> ErrorState:
    status = resource_type.spec.status_mapping
    key = str(status.body_key)
    word = "ERROR" if "error" in status.failed else min(status.failed).upper()
    return ErrorState(
        resource_type.spec.rest_resource.entity,
        {key: word, "fault": FAULT, "OS-EXT-STS:task_state": None},
        times,
        after_s,
        {key: min(status.busy, default="build").upper()},
    )


def _actions(service: LocalService, path: str, name: str) -> list[str]:
    """Return the statuses of a resource's events, the oldest first."""
    events = service.send("GET", f"{path}/resources/{name}/events").json["events"]
    return [each["resource_status"] for each in sorted(events, key=lambda each: each["id"])]


@pytest.mark.parametrize("resource_type", _types_with_status(), ids=lambda each: each.name)
def test_third_try_becomes_ready(
    service: LocalService,
    emulated_cloud: ClockedEmulation,
    resource_type: DeclarativeType,
) -> None:
    """The first try shows the error to the engine at once, the second to an observer later."""
    for after_s in (0.0, 1.0):
        emulated_cloud.emulation.inject_error_state(_error_state(resource_type, 1, after_s))
    case = _case_of(resource_type.name)
    path = create_stack(service, _template_of(case))
    tries = ["CREATE_IN_PROGRESS", "CREATE_FAILED", "DELETE_IN_PROGRESS", "DELETE_COMPLETE"]
    assert _actions(service, path, SUBJECT) == [*tries, *tries, *tries[:1], "CREATE_COMPLETE"]
    assert service.send("DELETE", path).status_int == 204
    assert stack_state(service, path) == "DELETE_COMPLETE"


def _translated_types() -> list[TranslatedType]:
    """Return the types that stand for a type with a status."""
    with_status = {each.name for each in _types_with_status()}
    return [
        each
        for each in load_aws_types()
        if isinstance(each, TranslatedType) and each.target in with_status
    ]


NET = {"net": {"type": "OS::Neutron::Net"}}
SUBNET = {
    "type": "OS::Neutron::Subnet",
    "properties": {"network": {"get_resource": "net"}, "cidr": "10.90.0.0/24"},
}
IN_SUBNET = {"SubnetId": {"get_resource": "subnet"}}
TRANSLATED: dict[str, tuple[Json, Json]] = {  # properties, and the resources that they name
    "AWS::EC2::Instance": (
        {"ImageId": "cirros", "InstanceType": "m1.nano", **IN_SUBNET},
        {**NET, "subnet": SUBNET},
    ),
    "AWS::EC2::NetworkInterface": (IN_SUBNET, {**NET, "subnet": SUBNET}),
    "AWS::EC2::RouteTable": ({"VpcId": {"get_resource": "net"}}, NET),
    "AWS::EC2::Volume": ({"Size": 1, "AvailabilityZone": "nova"}, {}),
    "AWS::EC2::VPC": ({"CidrBlock": "10.0.0.0/8"}, {}),
}


@pytest.mark.parametrize("resource_type", _translated_types(), ids=lambda each: each.name)
def test_third_try_of_a_translated_type_becomes_ready(
    service: LocalService, emulated_cloud: ClockedEmulation, resource_type: TranslatedType
) -> None:
    for after_s in (0.0, 1.0):
        error = _error_state(resource_type.delegate, 1, after_s)
        emulated_cloud.emulation.inject_error_state(error)
    properties, resources = TRANSLATED[resource_type.name]
    subject = {
        "type": resource_type.name,
        "properties": properties,
        "depends_on": [*resources],
    }
    body = {"heat_template_version": "2016-10-14", "resources": {**resources, SUBJECT: subject}}
    path = create_stack(service, body)
    tries = ["CREATE_IN_PROGRESS", "CREATE_FAILED", "DELETE_IN_PROGRESS", "DELETE_COMPLETE"]
    assert _actions(service, path, SUBJECT) == [*tries, *tries, *tries[:1], "CREATE_COMPLETE"]
    assert service.send("DELETE", path).status_int == 204
    assert stack_state(service, path) == "DELETE_COMPLETE"


def test_the_last_try_is_kept_with_its_reason(
    service: LocalService, emulated_cloud: ClockedEmulation
) -> None:
    resource_type = _type("OS::Nova::Server")
    emulated_cloud.emulation.inject_error_state(_error_state(resource_type, LIMIT + 1, 1.0))
    networks = [{"network": {"get_resource": "net"}}]
    body = {"stack_name": "s", "template": template(it=server(networks=networks))}
    response = service.send("POST", "/stacks", body)
    path = f"/stacks/s/{response.json['stack']['id']}"
    reason = (
        'ResourceInError: resources.it: Went to status ERROR due to "Message: No valid host was'
        ' found., Code: 500"'
    )
    assert stack_state(service, path) == f"CREATE_FAILED: Resource CREATE failed: {reason}"
    shown = service.send("GET", f"{path}/resources/{SUBJECT}").json["resource"]
    assert (shown["resource_status"], shown["resource_status_reason"]) == ("CREATE_FAILED", reason)
    statuses = _actions(service, path, SUBJECT)
    assert statuses.count("CREATE_FAILED") == LIMIT + 1
    assert statuses.count("DELETE_COMPLETE") == LIMIT
    assert [each["id"] for each in emulated_cloud.bodies("nova.server")] == [
        shown["physical_resource_id"]
    ]


def test_server_in_error_is_deleted_once(
    service: LocalService, emulated_cloud: ClockedEmulation
) -> None:
    """A server in error shows ERROR until it is deleted; that is no failed deletion."""
    resource_type = _type("OS::Nova::Server")
    emulated_cloud.emulation.inject_error_state(_error_state(resource_type, 1, 1.0))
    networks = [{"network": {"get_resource": "net"}}]
    create_stack(service, template(it=server(networks=networks)))
    deletions = emulated_cloud.emulation.count_requests("DELETE", "compute /servers/")
    assert deletions == 1


def test_tries_are_counted_logged_and_shown(
    service: LocalService, emulated_cloud: ClockedEmulation, caplog: pytest.LogCaptureFixture
) -> None:
    """Between two tries the resource shows why the last one failed."""
    resource_type = next(
        each for each in _types_with_status() if each.name == "OS::Cinder::Volume"
    )
    emulated_cloud.emulation.inject_error_state(_error_state(resource_type, 2))
    volume = {"type": "OS::Cinder::Volume", "properties": {"size": 1}}
    body = {"heat_template_version": "2016-10-14", "resources": {SUBJECT: volume}}
    caplog.set_level(logging.INFO)
    response = service.send(
        "POST", "/stacks", {"stack_name": "s", "template": body}, leave_pending=True
    )
    path = f"/stacks/s/{response.json['stack']['id']}"
    service.run_due_work()
    (shown,) = service.send("GET", f"{path}/resources", leave_pending=True).json["resources"]
    assert shown["resource_status"] == "INIT_COMPLETE"
    assert "Went to status ERROR" in shown["resource_status_reason"]
    assert stack_state(service, path) == "CREATE_COMPLETE"
    with service.services.store.transaction() as tx:
        stack = tx.stacks.get(response.json["stack"]["id"])
        assert stack is not None
        (row,) = tx.resources.get_by_stack(stack.id)
        assert tx.graph.get_retry_counts(stack.version, [row.id]) == {row.id: 2}
    retried = [each for each in caplog.records if "resource action retried" in each.getMessage()]
    assert len(retried) == 2
