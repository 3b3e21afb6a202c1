"""The rows of docs/reference/validation.rst that need more than a create.

Quotas, names, updates, types and their services, order of checks, and paths of errors.
Limits of trees are tested in tests/functional/nested, the purge of events in
tests/unit/cli.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from typing import Any

import pytest
from oslo_config import cfg

from heat_convergence.api.app import build_app
from heat_convergence.api.services import ApiOptions
from heat_convergence.clients.rest_client import RequestLimiter, SdkCloudClient
from heat_convergence.common import errors
from heat_convergence.resources.builtin.local_type import LocalType
from heat_convergence.resources.driver.request_cloud import use_request_cloud
from heat_convergence.resources.protocol.schema import PropertySchema, PropertyType, TypeSchema
from heat_convergence.testing.openstack.emulation import (
    PROJECT_ID,
    EmulatedResponse,
    InjectedFailure,
)
from heat_convergence.testing.openstack.http_adapter import connect, create_emulation
from tests.functional import validation_cases as table
from tests.functional.fake_server import FakeServer, assert_refused, create_stack, get_body
from tests.functional.harness import LocalService

Json = Any
SVF = "StackValidationFailed"
HIDDEN = "OS::Neutron::LBaaS::Pool"


class SelfValidatingType(LocalType):
    """A type whose own validation raises the error named by ``complaint``."""

    name = "Test::Strict"
    schema = TypeSchema(
        properties={
            "complaint": PropertySchema(type=PropertyType.STRING),
            "fixed": PropertySchema(type=PropertyType.STRING, immutable=True),
            "replacing": PropertySchema(type=PropertyType.STRING),
        }
    )

    def validate(self, properties: Json, timeout_s: float | None) -> None:
        complaint = properties.get("complaint")
        if complaint:
            raise getattr(errors, complaint)("it will not do")


class UnavailableServiceType(SelfValidatingType):
    """A type of a service that the cloud's catalogue does not have."""

    name = "Test::Elsewhere"

    def check_available(self) -> None:
        raise errors.ResourceTypeUnavailable("HEAT-E99001 Service elsewhere is not there.")


class AcceptingConstraints(dict[str, Any]):
    """Custom constraints that accept every value."""

    def get(self, name: str, default: Json = None) -> Json:
        return self[name]

    def __missing__(self, name: str) -> Json:
        return lambda *_arguments: None


@contextmanager
def running(folder: Any, **options: Json) -> Iterator[LocalService]:
    service = LocalService(
        f"sqlite:///{folder}/hc.sqlite",
        ApiOptions(**options),
        (SelfValidatingType(), UnavailableServiceType(), FakeServer()),
        custom_constraints=AcceptingConstraints(),
    )
    yield service
    service.close()


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalService]:
    with running(tmp_path_factory.mktemp("db")) as found:
        yield found


@pytest.fixture
def stack(service: LocalService) -> Iterator[str]:
    path = create_stack(
        service, stack_name="kept", template=table.template_with_resource(table.value_resource(1))
    )
    yield path
    assert service.send("DELETE", path).status_int == 204


def create(service: LocalService, template: Json, name: str = "bad", **body: Json) -> Any:
    return service.send("POST", "/stacks", {"stack_name": name, "template": template, **body})


# -- limits ----------------------------------------------------------------------------


class TestLimits:
    EMPTY = table.hot_template()

    def make(self, service: LocalService, *names: str) -> None:
        for name in names:
            assert create(service, self.EMPTY, name).status_int == 201

    def test_number_of_stacks_is_limited_per_project(self, tmp_path: Any) -> None:
        with running(tmp_path, max_stacks_per_tenant=2) as service:
            self.make(service, "one", "two")
            answer = create(service, self.EMPTY, "three")
            assert "2" in assert_refused(answer, 400, "RequestLimitExceeded")
            preview = {"stack_name": "three", "template": self.EMPTY}
            answer = service.send("POST", "/stacks/preview", preview)
            assert_refused(answer, 400, "RequestLimitExceeded")
            other = service.send("POST", "/stacks", preview, project="q")
            assert other.status_int == 201  # a quota is each project's own

    def test_deleted_and_nested_stacks_do_not_count(self, tmp_path: Any) -> None:
        with running(tmp_path, max_stacks_per_tenant=1) as service:
            nested = table.template_with_resource({"type": "child.yaml"})
            files = {
                "child.yaml": json.dumps(table.template_with_resource(table.value_resource(1)))
            }
            path = create_stack(service, stack_name="one", template=nested, files=files)
            assert service.send("DELETE", path).status_int == 204
            self.make(service, "two")

    @pytest.mark.parametrize("most", [-1, -7])
    def test_negative_limit_is_no_limit(self, tmp_path: Any, most: int) -> None:
        with running(tmp_path, max_stacks_per_tenant=most) as service:
            self.make(service, "one", "two", "three")

    def test_number_of_resources_is_limited_in_create_and_update(self, tmp_path: Any) -> None:
        with running(tmp_path, max_resources_per_stack=1) as service:
            two = table.hot_template(resources={name: table.value_resource(1) for name in "ab"})
            assert_refused(create(service, two), 400, "RequestLimitExceeded")
            path = create_stack(
                service,
                stack_name="one",
                template=table.template_with_resource(table.value_resource(1)),
            )
            assert_refused(
                service.send("PUT", path, {"template": two}), 400, "RequestLimitExceeded"
            )
            assert get_body(service, path)["stack_status"] == "CREATE_COMPLETE"

    def test_number_of_resources_can_be_unlimited(self, tmp_path: Any) -> None:
        with running(tmp_path, max_resources_per_stack=-1) as service:
            template = table.hot_template(
                resources={f"r{i}": table.value_resource(1) for i in range(1001)}
            )
            assert (
                service.send(
                    "POST", "/stacks/preview", {"stack_name": "s", "template": template}
                ).status_int
                == 200
            )

    def test_number_of_software_configs_and_deployments_is_limited(self, tmp_path: Any) -> None:
        limits = {"max_software_configs_per_tenant": 1, "max_software_deployments_per_tenant": 1}
        with running(tmp_path, **limits) as service:
            answer = service.send("POST", "/software_configs", {"name": "one"})
            config = answer.json["software_config"]["id"]
            body = {"config_id": config, "server_id": "s"}
            assert service.send("POST", "/software_deployments", body).status_int == 200
            for path, request_body in (
                ("/software_configs", {"name": "two"}),
                ("/software_deployments", {**body, "server_id": "t"}),
            ):
                assert_refused(
                    service.send("POST", path, request_body), 400, "RequestLimitExceeded"
                )

    def test_length_of_a_stack_user_project_id_is_limited(self, service: LocalService) -> None:
        answer = service.send("POST", "/software_configs", {"name": "one"})
        body = {
            "config_id": answer.json["software_config"]["id"],
            "server_id": "s",
            "stack_user_project_id": "x" * 65,
        }
        message = assert_refused(
            service.send("POST", "/software_deployments", body), 400, "Invalid"
        )
        assert "64" in message
        body["stack_user_project_id"] = "x" * 64  # no project of theirs, but short enough
        assert service.send("POST", "/software_deployments", body).status_int == 404

    def test_size_of_a_nested_template_is_limited(self, service: LocalService) -> None:
        files = {"child.yaml": "#" * 524_289}
        answer = create(service, table.template_with_resource({"type": "child.yaml"}), files=files)
        assert "524288" in assert_refused(answer, 400, "RequestLimitExceeded")


# -- names -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("minutes", "state"), [(None, "CREATE_FAILED"), (0, "CREATE_FAILED"), (80, "CREATE_COMPLETE")]
)
def test_action_times_out_after_an_hour_by_default(
    service: LocalService, minutes: Json, state: str
) -> None:
    """The resource takes longer than the default and shorter than the longest time."""
    slow = {
        "type": "OS::Heat::TestResource",
        "properties": {"action_wait_secs": {"create": 4_000}},
    }
    path = create_stack(
        service,
        stack_name="slow",
        template=table.template_with_resource(slow),
        timeout_mins=minutes,
    )
    response = get_body(service, path)
    assert response["stack_status"] == state
    assert ("Timed out" in response["stack_status_reason"]) is state.endswith("FAILED")
    service.send("DELETE", path)


def test_name_of_a_live_stack_is_refused(service: LocalService, stack: str) -> None:
    assert_refused(create(service, table.hot_template(), "kept"), 409, "StackExists")
    preview = {"stack_name": "kept", "template": table.hot_template()}
    assert_refused(service.send("POST", "/stacks/preview", preview), 409, "StackExists")
    assert service.send("POST", "/stacks", preview, project="q").status_int == 201


def test_physical_names_are_at_most_255_characters(service: LocalService) -> None:
    long = "s" * 255
    path = create_stack(
        service, stack_name=long, template=table.template_with_resource(table.value_resource(1))
    )
    (row,) = get_body(service, path + "/resources")
    assert len(row["physical_resource_id"]) <= 255
    service.send("DELETE", path)


# -- the request of an update ----------------------------------------------------------

UPDATES: list[tuple[str, Json, str]] = [
    ("no template", {}, "HTTPBadRequest"),
    ("template no map", {"template": "[1]"}, "HTTPBadRequest"),
    ("no version key", {"template": {"resources": {}}}, "HTTPBadRequest"),
    ("unknown version", {"template": table.hot_template("2016-10-15")}, "InvalidTemplateVersion"),
    ("unknown section", {"template": table.hot_template(colours={})}, "InvalidTemplateSection"),
    ("section newer than the version", {"template": table.hot_template("2016-04-08", conditions={})},  # noqa: E501
     "InvalidTemplateSection"),
    ("resources a list", {"template": table.hot_template(resources=[])}, "AttributeError"),
    ("environment a list", {"template": table.hot_template(), "environment": [1]}, "HTTPBadRequest"),  # noqa: E501
    ("timeout_mins negative", {"template": table.hot_template(), "timeout_mins": -1}, "HTTPBadRequest"),  # noqa: E501
    ("converge no boolean", {"template": table.hot_template(), "converge": "x"}, "ValueError"),
    ("tags as a list", {"template": table.hot_template(), "tags": ["a"]}, "AttributeError"),
    ("files not a map", {"template": table.hot_template(), "files": "a"}, "ValueError"),
    ("environment_files missing", {"template": table.hot_template(), "environment_files": ["e"]},
     "KeyError"),
    ("unknown type", {"template": table.template_with_resource({"type": "OS::Heat::Nothing"})}, SVF),  # noqa: E501
    ("unknown parameter", {"template": table.hot_template(), "parameters": {"x": 1}},
     "UnknownUserParameter"),
]  # fmt: skip


@pytest.mark.parametrize("row", UPDATES, ids=[row[0] for row in UPDATES])
@pytest.mark.parametrize("suffix", ["", "/preview"])
def test_update_refuses(service: LocalService, stack: str, row: Json, suffix: str) -> None:
    _name, body, error_type = row
    assert_refused(service.send("PUT", stack + suffix, body), 400, error_type)
    response = get_body(service, stack)
    assert (response["stack_status"], response["updated_time"]) == ("CREATE_COMPLETE", None)


@pytest.mark.parametrize("path", ["/stacks/preview", "/validate"])
def test_resources_as_a_list_are_an_attribute_error_in_preview_and_validate(
    service: LocalService, path: str
) -> None:
    body = {"stack_name": "x", "template": table.hot_template(resources=[])}
    assert_refused(service.send("POST", path, body), 400, "AttributeError")


def test_converge_is_accepted_only_in_updates(service: LocalService, stack: str) -> None:
    body = {"template": table.hot_template(), "converge": True}
    for path in ("/stacks", "/stacks/preview"):
        assert_refused(
            service.send("POST", path, {"stack_name": "x", **body}), 400, "HTTPBadRequest"
        )
    assert service.send("PUT", stack + "/preview", body).status_int == 200
    assert service.send("PUT", stack, body).status_int == 202


# -- adopting and abandoning -----------------------------------------------------------

DOCUMENTS = ["{", "[1]", "{}", '{"template": {}}', '{"template": [1]}', '{"template": 5}']


@pytest.mark.parametrize("document", DOCUMENTS)
def test_adopt_refuses_invalid_documents(tmp_path: Any, document: str) -> None:
    with running(tmp_path, enable_stack_adopt=True) as service:
        body = {"stack_name": "s", "adopt_stack_data": document}
        assert_refused(service.send("POST", "/stacks", body), 400, "HTTPBadRequest")


def test_abandon_and_export_may_be_disabled(service: LocalService, stack: str) -> None:
    assert_refused(service.send("DELETE", stack + "/abandon"), 400, "NotSupported")
    assert_refused(service.send("GET", stack + "/export"), 400, "NotSupported")


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
    (tmp_path / "policy.yaml").write_text('"resource_types:Test::House": "!"\n')
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
    assert message.startswith("resources.r.external_id")
    emulation.injected_failures.append(
        InjectedFailure("GET", "nowhere", EmulatedResponse(503, {}), remaining=5)
    )
    assert preview("nowhere").status_int == 200  # The service cannot be asked now.


# -- order of checks -------------------------------------------------------------------

_MANY = {f"m{n}": table.value_resource(n) for n in range(1_001)}
_P = {"p": {"type": "string"}}
MISTAKES: list[tuple[str, Callable[[Json], Json], str]] = [
    ("no stack name", lambda b: {k: v for k, v in b.items() if k != "stack_name"},
     "No stack name"),
    ("environment", lambda b: {**b, "environment": {"colours": {}}}, "colours"),
    ("name taken", lambda b: {**b, "stack_name": "kept"}, "already exists"),
    ("section", lambda b: _with(b, another={}), "another"),
    ("number of resources", lambda b: _with(b, resources=_MANY), "Maximum resources"),
    ("name wrong", lambda b: {**b, "stack_name": "1" + b["stack_name"]}, "Invalid stack name"),
    ("parameter missing", lambda b: _with(b, parameters=_P), "was not provided"),
    ("group", lambda b: _with(b, parameter_groups=[{"parameters": ["nobody"]}]), "nobody"),
    ("condition", lambda b: _with(b, conditions={"a": {"not": "undefined"}}), "undefined"),
    ("definition", lambda b: _with(b, resources={"d": {"properties": {}}}), "resources.d"),
    ("dependency", lambda b: _with(b, resources={"s": table.value_resource(1, depends_on="lost")}),
     "lost"),
    ("resource", lambda b: _with(b, resources={"v": {"type": "OS::Heat::Value"}}), "value"),
    ("output", lambda b: _with(b, outputs={"o": {"value": {"get_attr": ["none", "x"]}}}),
     "none"),
]  # fmt: skip


def _with(body: Json, **sections: Json) -> Json:
    template = dict(body["template"])
    for name, content in sections.items():
        old = template.get(name)
        template[name] = {**old, **content} if isinstance(old, dict) else content
    return {**body, "template": template}


@pytest.mark.parametrize("at", range(len(MISTAKES) - 1), ids=[row[0] for row in MISTAKES[:-1]])
def test_error_of_an_earlier_check_is_reported_first(
    service: LocalService, stack: str, at: int
) -> None:
    for later in MISTAKES[at + 1 :]:
        body = {"stack_name": "fresh", "template": table.hot_template()}
        body = MISTAKES[at][1](later[1](body))
        message = service.send("POST", "/stacks", body).json["error"]["message"]
        assert MISTAKES[at][2] in message.splitlines()[0], (later[0], message)


# -- validate --------------------------------------------------------------------------


def test_validate_accepts_missing_parameters(service: LocalService) -> None:
    template = table.template_with_resource(
        {"type": "OS::Heat::RandomString", "properties": {"length": {"get_param": "p"}}},
        parameters={"p": {"type": "number"}},
    )
    assert service.send("POST", "/validate", {"template": template}).status_int == 200


def test_validate_can_ignore_error_99001_only(service: LocalService) -> None:
    template = table.template_with_resource({"type": UnavailableServiceType.name})
    assert_refused(
        service.send("POST", "/validate", {"template": template}), 400, "ResourceTypeUnavailable"
    )
    answer = service.send("POST", "/validate?ignore_errors=99001", {"template": template})
    assert answer.status_int == 200, answer.text
    assert_refused(
        service.send("POST", "/validate?ignore_errors=99002", {"template": template}),
        400,
        "ValueError",
    )


def test_validate_checks_nested_templates(service: LocalService) -> None:
    child = table.template_with_resource(
        table.value_resource(1), parameters={"x": {"type": "string"}}
    )
    body = {
        "template": table.template_with_resource({"type": "c.yaml", "properties": {"x": "1"}}),
        "files": {"c.yaml": json.dumps(child)},
    }
    plain = service.send("POST", "/validate", body)
    assert "NestedParameters" not in plain.json
    nested = service.send("POST", "/validate?show_nested=true", body).json["NestedParameters"]
    assert list(nested["r"]["Parameters"]) == ["x"]
    body["files"]["c.yaml"] = json.dumps(
        table.template_with_resource({"type": "OS::Heat::Nothing"})
    )
    assert_refused(service.send("POST", "/validate", body), 400, SVF)


# -- paths of errors -------------------------------------------------------------------


def test_path_of_an_error_has_the_list_index(service: LocalService) -> None:
    server = {
        "type": "OS::Nova::Server",
        "properties": {
            "flavor": "f",
            "image": "i",
            "networks": [{"network": "n"}, {"colour": "blue"}],
        },
    }
    message = assert_refused(create(service, table.template_with_resource(server)), 400, SVF)
    assert "resources.r.properties.networks[1]" in message


def test_path_of_a_nested_error_names_the_template(service: LocalService) -> None:
    files = {"c.yaml": json.dumps(table.template_with_resource({"type": "OS::Heat::Value"}))}
    message = assert_refused(
        create(service, table.template_with_resource({"type": "c.yaml"}), files=files), 400, SVF
    )
    assert "resources.r<c.yaml>.resources.r" in message
