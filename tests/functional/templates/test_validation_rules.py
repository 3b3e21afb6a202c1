"""The rows of heat-facts ``validation.md`` that a single create does not show.

``test_validation`` has the tables of what is refused when a stack is made; here are
quotas, names, updates, types and their services, order of checks, and paths of errors.
Depth and size of trees are shown by ``test_nested_stacks``, the time of actions by
``test_failures``, the purge of events by ``tests/unit/cli/test_housekeeping``.
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
    """Says what its own validation found, in the words of ``complaint``."""

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
    """Of a service that the catalogue does not have."""

    name = "Test::Elsewhere"

    def check_available(self) -> None:
        raise errors.ResourceTypeUnavailable("HEAT-E99001 Service elsewhere is not there.")


class AcceptingConstraints(dict[str, Any]):
    """Custom constraints that find all that they look for."""

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

    def test_stacks_of_a_project(self, tmp_path: Any) -> None:
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
    def test_no_limit(self, tmp_path: Any, most: int) -> None:
        with running(tmp_path, max_stacks_per_tenant=most) as service:
            self.make(service, "one", "two", "three")

    def test_resources_of_a_template(self, tmp_path: Any) -> None:
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

    def test_any_number_of_resources(self, tmp_path: Any) -> None:
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

    def test_software(self, tmp_path: Any) -> None:
        limits = {"max_software_configs_per_tenant": 1, "max_software_deployments_per_tenant": 1}
        with running(tmp_path, **limits) as service:
            made = service.send("POST", "/software_configs", {"name": "one"})
            config = made.json["software_config"]["id"]
            body = {"config_id": config, "server_id": "s"}
            assert service.send("POST", "/software_deployments", body).status_int == 200
            for path, given in (
                ("/software_configs", {"name": "two"}),
                ("/software_deployments", {**body, "server_id": "t"}),
            ):
                assert_refused(service.send("POST", path, given), 400, "RequestLimitExceeded")

    def test_project_of_a_deployment_s_user(self, service: LocalService) -> None:
        made = service.send("POST", "/software_configs", {"name": "one"})
        body = {
            "config_id": made.json["software_config"]["id"],
            "server_id": "s",
            "stack_user_project_id": "x" * 65,
        }
        told = assert_refused(service.send("POST", "/software_deployments", body), 400, "Invalid")
        assert "64" in told
        body["stack_user_project_id"] = "x" * 64
        assert service.send("POST", "/software_deployments", body).status_int == 200

    def test_a_nested_template_too_large(self, service: LocalService) -> None:
        files = {"child.yaml": "#" * 524_289}
        answer = create(service, table.template_with_resource({"type": "child.yaml"}), files=files)
        assert "524288" in assert_refused(answer, 400, "RequestLimitExceeded")


# -- names -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("minutes", "state"), [(None, "CREATE_FAILED"), (0, "CREATE_FAILED"), (80, "CREATE_COMPLETE")]
)
def test_the_time_of_an_action(service: LocalService, minutes: Json, state: str) -> None:
    """An hour where the request names none; the resource takes more."""
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
    shown = get_body(service, path)
    assert shown["stack_status"] == state
    assert ("Timed out" in shown["stack_status_reason"]) is state.endswith("FAILED")
    service.send("DELETE", path)


def test_a_name_that_is_taken(service: LocalService, stack: str) -> None:
    assert_refused(create(service, table.hot_template(), "kept"), 409, "StackExists")
    preview = {"stack_name": "kept", "template": table.hot_template()}
    assert_refused(service.send("POST", "/stacks/preview", preview), 409, "StackExists")
    assert service.send("POST", "/stacks", preview, project="q").status_int == 201


def test_physical_names(service: LocalService) -> None:
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
@pytest.mark.parametrize("below", ["", "/preview"])
def test_update_refuses(service: LocalService, stack: str, row: Json, below: str) -> None:
    _name, body, kind = row
    assert_refused(service.send("PUT", stack + below, body), 400, kind)
    shown = get_body(service, stack)
    assert (shown["stack_status"], shown["updated_time"]) == ("CREATE_COMPLETE", None)


@pytest.mark.parametrize("path", ["/stacks/preview", "/validate"])
def test_resources_as_a_list_elsewhere(service: LocalService, path: str) -> None:
    body = {"stack_name": "x", "template": table.hot_template(resources=[])}
    assert_refused(service.send("POST", path, body), 400, "AttributeError")


def test_converge_is_for_updates(service: LocalService, stack: str) -> None:
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
def test_adopting_needs_a_document(tmp_path: Any, document: str) -> None:
    with running(tmp_path, enable_stack_adopt=True) as service:
        body = {"stack_name": "s", "adopt_stack_data": document}
        assert_refused(service.send("POST", "/stacks", body), 400, "HTTPBadRequest")


def test_handover_may_be_disabled(service: LocalService, stack: str) -> None:
    assert_refused(service.send("DELETE", stack + "/abandon"), 400, "NotSupported")
    assert_refused(service.send("GET", stack + "/export"), 400, "NotSupported")


# -- types and their services ----------------------------------------------------------


def test_a_hidden_type_is_accepted(service: LocalService) -> None:
    shown = service.send("GET", "/resource_types").json["resource_types"]
    assert HIDDEN not in shown
    path = create_stack(
        service, stack_name="old", template=table.template_with_resource({"type": HIDDEN})
    )
    assert get_body(service, path)["stack_status"] == "CREATE_COMPLETE"
    service.send("DELETE", path)


def test_a_type_whose_service_is_not_there(service: LocalService) -> None:
    answer = create(service, table.template_with_resource({"type": UnavailableServiceType.name}))
    assert assert_refused(answer, 400, "ResourceTypeUnavailable").startswith("HEAT-E99001")


def test_a_type_that_policy_forbids(service: LocalService, tmp_path: Any) -> None:
    (tmp_path / "policy.yaml").write_text('"resource_types:Test::House": "!"\n')
    conf = cfg.ConfigOpts()
    conf([], default_config_files=[], default_config_dirs=[])
    build_app(service.services, conf=conf)  # registers the library's options
    conf.set_override("policy_file", str(tmp_path / "policy.yaml"), "oslo_policy")
    keep = service._inner
    service.use_application(build_app(service.services, conf=conf))
    try:
        template = table.template_with_resource({"type": FakeServer.name})
        told = assert_refused(create(service, template), 403, "Forbidden")
        assert FakeServer.name in told
    finally:
        service.use_application(keep)


COMPLAINTS = [
    ("ResourcePropertyConflict", "ResourcePropertyConflict"),
    ("PropertyUnspecifiedError", "PropertyUnspecifiedError"),
    ("ResourcePropertyDependency", "ResourcePropertyDependency"),
    ("ResourcePropertyValueDependency", "ResourcePropertyValueDependency"),
    ("OverQuota", SVF),
    ("NotSupported", SVF),
]


@pytest.mark.parametrize(("complaint", "kind"), COMPLAINTS)
def test_what_a_type_itself_finds(service: LocalService, complaint: str, kind: str) -> None:
    template = table.template_with_resource(
        {"type": SelfValidatingType.name, "properties": {"complaint": complaint}}
    )
    told = assert_refused(create(service, template), 400, kind)
    assert "it will not do" in told
    if kind == SVF:
        assert complaint in told


@pytest.mark.parametrize(
    ("properties", "kind"),
    [
        ({"networks": [{"port": "p", "fixed_ip": "10.0.0.5"}]}, "ResourcePropertyConflict"),
        ({"networks": [{}]}, "PropertyUnspecifiedError"),
    ],
)
def test_properties_of_servers(service: LocalService, properties: Json, kind: str) -> None:
    server = {
        "type": "OS::Nova::Server",
        "properties": {"flavor": "f", "image": "i", **properties},
    }
    assert_refused(create(service, table.template_with_resource(server)), 400, kind)


def test_where_a_policy_redirects_to_goes_with_its_action(service: LocalService) -> None:
    policy = {
        "type": "OS::Octavia::L7Policy",
        "properties": {"listener": "l", "action": "REJECT", "redirect_url": "http://example.org/"},
    }
    told = assert_refused(
        create(service, table.template_with_resource(policy)),
        400,
        "ResourcePropertyValueDependency",
    )
    assert "redirect_url" in told
    assert "REDIRECT_TO_URL" in told


def test_what_depends_on_others_is_not_checked(service: LocalService) -> None:
    template = table.hot_template(resources={
        "a": {"type": "OS::Heat::TestResource", "properties": {"value": "x"}},
        "b": {"type": "OS::Heat::RandomString",
              "properties": {"length": {"get_attr": ["a", "output"]}}},
    })  # fmt: skip
    path = create_stack(service, stack_name="later", template=template)
    shown = get_body(service, path)
    assert shown["stack_status"] == "CREATE_FAILED"  # known when "a" is there, not before
    assert "length" in shown["stack_status_reason"]
    service.send("DELETE", path)


def strict(**properties: Json) -> Json:
    return table.template_with_resource(
        {"type": SelfValidatingType.name, "properties": properties}
    )


def test_an_immutable_property(service: LocalService) -> None:
    path = create_stack(service, stack_name="fixed", template=strict(fixed="a"))
    assert service.send("PUT", path, {"template": strict(fixed="b")}).status_int == 202
    shown = get_body(service, path)
    assert shown["stack_status"] == "UPDATE_FAILED"
    assert "NotSupported" in shown["stack_status_reason"]
    service.send("DELETE", path)


def test_a_property_that_may_not_change(service: LocalService) -> None:
    path = create_stack(service, stack_name="replaced", template=strict(replacing="a"))
    (before,) = get_body(service, path + "/resources")
    assert service.send("PUT", path, {"template": strict(replacing="b")}).status_int == 202
    (after,) = get_body(service, path + "/resources")
    assert after["resource_status"] == "CREATE_COMPLETE"
    assert before["physical_resource_id"] != after["physical_resource_id"]
    service.send("DELETE", path)


def test_an_external_resource_that_is_not_there(
    service: LocalService, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        "heat_convergence.api.trust_delegation.use_request_cloud", lambda _cloud: nullcontext()
    )
    emulation = create_emulation()
    connection = connect(emulation)
    there = emulation.collection("neutron.network").add({"name": "n", "status": "ACTIVE"})
    body = {"stack_name": "bad"}

    def ask(external_id: str) -> Any:
        net = {"type": "OS::Neutron::Net", "external_id": external_id}
        with use_request_cloud(
            SdkCloudClient("k", PROJECT_ID, lambda: connection, RequestLimiter(4))
        ):
            return service.send(
                "POST", "/stacks/preview", {**body, "template": table.template_with_resource(net)}
            )

    assert ask(there.body["id"]).status_int == 200
    told = assert_refused(ask("nowhere"), 400, SVF)
    assert told.startswith("resources.r.external_id")
    emulation.injected_failures.append(
        InjectedFailure("GET", "nowhere", EmulatedResponse(503, {}), remaining=5)
    )
    assert ask("nowhere").status_int == 200  # it can't be told now


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
def test_an_earlier_check_s_mistake_is_told_first(
    service: LocalService, stack: str, at: int
) -> None:
    for later in MISTAKES[at + 1 :]:
        body = {"stack_name": "fresh", "template": table.hot_template()}
        body = MISTAKES[at][1](later[1](body))
        told = service.send("POST", "/stacks", body).json["error"]["message"]
        assert MISTAKES[at][2] in told.splitlines()[0], (later[0], told)


# -- validate --------------------------------------------------------------------------


def test_validate_is_not_strict(service: LocalService) -> None:
    template = table.template_with_resource(
        {"type": "OS::Heat::RandomString", "properties": {"length": {"get_param": "p"}}},
        parameters={"p": {"type": "number"}},
    )
    assert service.send("POST", "/validate", {"template": template}).status_int == 200


def test_validate_knows_the_one_error_that_may_be_ignored(service: LocalService) -> None:
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


def test_validate_looks_into_nested_templates(service: LocalService) -> None:
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


def test_a_list_index_in_a_path(service: LocalService) -> None:
    server = {
        "type": "OS::Nova::Server",
        "properties": {
            "flavor": "f",
            "image": "i",
            "networks": [{"network": "n"}, {"colour": "blue"}],
        },
    }
    told = assert_refused(create(service, table.template_with_resource(server)), 400, SVF)
    assert "resources.r.properties.networks[1]" in told


def test_the_path_of_a_nested_mistake(service: LocalService) -> None:
    files = {"c.yaml": json.dumps(table.template_with_resource({"type": "OS::Heat::Value"}))}
    told = assert_refused(
        create(service, table.template_with_resource({"type": "c.yaml"}), files=files), 400, SVF
    )
    assert "resources.r<c.yaml>.resources.r" in told
