"""The rows of docs/reference/validation.rst on resource types, their services and properties."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import nullcontext
from typing import Any

import pytest
from oslo_config import cfg

from heat_convergence.api.app import build_app
from heat_convergence.clients.rest_client import RequestLimiter, SdkCloudClient
from heat_convergence.resources.driver.request_cloud import use_request_cloud
from heat_convergence.testing.openstack.emulation import (
    PROJECT_ID,
    EmulatedResponse,
    InjectedFailure,
)
from heat_convergence.testing.openstack.http_adapter import connect, create_emulation
from tests.functional import validation_cases as table
from tests.functional.fake_server import FakeServer, assert_refused, create_stack, get_body
from tests.functional.harness import LocalService
from tests.functional.templates.validation_service import (
    SVF,
    SelfValidatingType,
    UnavailableServiceType,
    create,
    running,
)

Json = Any
HIDDEN = "OS::Neutron::LBaaS::Pool"


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalService]:
    with running(tmp_path_factory.mktemp("db")) as found:
        yield found


# -- types and their services ----------------------------------------------------------


def test_hidden_type_is_accepted(service: LocalService) -> None:
    response = service.send("GET", "/resource_types").json["resource_types"]
    assert HIDDEN not in response
    path = create_stack(
        service, stack_name="old", template=table.template_with_resource({"type": HIDDEN})
    )
    assert get_body(service, path)["stack_status"] == "CREATE_COMPLETE"
    service.send("DELETE", path)


def test_type_without_its_service_is_refused(service: LocalService) -> None:
    answer = create(service, table.template_with_resource({"type": UnavailableServiceType.name}))
    assert assert_refused(answer, 400, "ResourceTypeUnavailable").startswith("HEAT-E99001")


def test_type_forbidden_by_policy_is_refused(service: LocalService, tmp_path: Any) -> None:
    (tmp_path / "policy.yaml").write_text('"resource_types:Test::Server": "!"\n')
    conf = cfg.ConfigOpts()
    conf([], default_config_files=[], default_config_dirs=[])
    build_app(service.services, conf=conf)  # registers the library's options
    conf.set_override("policy_file", str(tmp_path / "policy.yaml"), "oslo_policy")
    original = service._inner
    service.use_application(build_app(service.services, conf=conf))
    try:
        template = table.template_with_resource({"type": FakeServer.name})
        message = assert_refused(create(service, template), 403, "Forbidden")
        assert FakeServer.name in message
    finally:
        service.use_application(original)


COMPLAINTS = [
    ("ResourcePropertyConflict", "ResourcePropertyConflict"),
    ("PropertyUnspecifiedError", "PropertyUnspecifiedError"),
    ("ResourcePropertyDependency", "ResourcePropertyDependency"),
    ("ResourcePropertyValueDependency", "ResourcePropertyValueDependency"),
    ("OverQuota", SVF),
    ("NotSupported", SVF),
]


@pytest.mark.parametrize(("complaint", "error_type"), COMPLAINTS)
def test_errors_of_a_types_own_validation_are_reported(
    service: LocalService, complaint: str, error_type: str
) -> None:
    template = table.template_with_resource(
        {"type": SelfValidatingType.name, "properties": {"complaint": complaint}}
    )
    message = assert_refused(create(service, template), 400, error_type)
    assert "it will not do" in message
    if error_type == SVF:
        assert complaint in message


@pytest.mark.parametrize(
    ("properties", "error_type"),
    [
        ({"networks": [{"port": "p", "fixed_ip": "10.0.0.5"}]}, "ResourcePropertyConflict"),
        ({"networks": [{}]}, "PropertyUnspecifiedError"),
    ],
)
def test_invalid_server_properties_are_refused(
    service: LocalService, properties: Json, error_type: str
) -> None:
    server = {
        "type": "OS::Nova::Server",
        "properties": {"flavor": "f", "image": "i", **properties},
    }
    assert_refused(create(service, table.template_with_resource(server)), 400, error_type)


def test_l7_policy_redirect_url_requires_the_redirect_action(service: LocalService) -> None:
    policy = {
        "type": "OS::Octavia::L7Policy",
        "properties": {"listener": "l", "action": "REJECT", "redirect_url": "http://example.org/"},
    }
    message = assert_refused(
        create(service, table.template_with_resource(policy)),
        400,
        "ResourcePropertyValueDependency",
    )
    assert "redirect_url" in message
    assert "REDIRECT_TO_URL" in message


def test_values_that_depend_on_other_resources_are_not_checked(service: LocalService) -> None:
    template = table.hot_template(resources={
        "a": {"type": "OS::Heat::TestResource", "properties": {"value": "x"}},
        "b": {"type": "OS::Heat::RandomString",
              "properties": {"length": {"get_attr": ["a", "output"]}}},
    })  # fmt: skip
    path = create_stack(service, stack_name="later", template=template)
    response = get_body(service, path)
    assert response["stack_status"] == "CREATE_FAILED"  # known when "a" is there, not before
    assert "length" in response["stack_status_reason"]
    service.send("DELETE", path)


def strict(**properties: Json) -> Json:
    return table.template_with_resource(
        {"type": SelfValidatingType.name, "properties": properties}
    )


def test_immutable_property_fails_the_update(service: LocalService) -> None:
    path = create_stack(service, stack_name="fixed", template=strict(fixed="a"))
    assert service.send("PUT", path, {"template": strict(fixed="b")}).status_int == 202
    response = get_body(service, path)
    assert response["stack_status"] == "UPDATE_FAILED"
    assert "NotSupported" in response["stack_status_reason"]
    service.send("DELETE", path)


def test_change_of_other_properties_replaces_the_resource(service: LocalService) -> None:
    path = create_stack(service, stack_name="replaced", template=strict(replacing="a"))
    (before,) = get_body(service, path + "/resources")
    assert service.send("PUT", path, {"template": strict(replacing="b")}).status_int == 202
    (after,) = get_body(service, path + "/resources")
    assert after["resource_status"] == "CREATE_COMPLETE"
    assert before["physical_resource_id"] != after["physical_resource_id"]
    service.send("DELETE", path)


def test_missing_external_resource_is_refused(
    service: LocalService, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        "heat_convergence.api.trust_delegation.use_request_cloud", lambda _cloud: nullcontext()
    )
    emulation = create_emulation()
    connection = connect(emulation)
    network = emulation.collection("neutron.network").add({"name": "n", "status": "ACTIVE"})
    body = {"stack_name": "bad"}

    def preview(external_id: str) -> Any:
        net = {"type": "OS::Neutron::Net", "external_id": external_id}
        with use_request_cloud(
            SdkCloudClient("k", PROJECT_ID, lambda: connection, RequestLimiter(4))
        ):
            return service.send(
                "POST", "/stacks/preview", {**body, "template": table.template_with_resource(net)}
            )

    assert preview(network.body["id"]).status_int == 200
    message = assert_refused(preview("nowhere"), 400, SVF)
    assert message.startswith("Invalid external resource: Resource nowhere (OS::Neutron::Net) can")
    emulation.injected_failures.append(
        InjectedFailure("GET", "nowhere", EmulatedResponse(503, {}), remaining=5)
    )
    assert preview("nowhere").status_int == 200  # The service cannot be asked now.
