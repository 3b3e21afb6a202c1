"""Access of two projects and three roles, checked by the real keystonemiddleware.

Only Keystone itself is replaced: ``fetch_token`` returns its description of a token.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from keystonemiddleware.auth_token import AuthProtocol, _exceptions
from oslo_config import cfg
from webob import Request, Response

from heat_convergence.api.app import build_app
from heat_convergence.api.context import AuthStrategy
from tests.functional.harness import LocalService

TEMPLATE = {
    "heat_template_version": "2016-10-14",
    "resources": {"r": {"type": "OS::Heat::Value", "properties": {"value": 1}}},
}
READER, MEMBER, ADMIN = ["reader"], ["member", "reader"], ["admin", "member", "reader"]
STACK_USER = ["heat_stack_user"]


def token_document(name: str) -> dict[str, Any]:
    """Return Keystone's description of the token ``project/role+role``."""
    project, _, roles = name.partition("/")
    domain = {"id": "default", "name": "Default"}
    return {
        "token": {
            "methods": ["password"],
            "issued_at": "2026-01-01T00:00:00.000000Z",
            "expires_at": "2126-01-01T00:00:00.000000Z",
            "user": {"id": "u", "name": "ursula", "domain": domain},
            "project": {"id": project, "name": project, "domain": domain},
            "is_admin_project": False,
            "roles": [{"id": role, "name": role} for role in roles.split("+")],
        }
    }


@pytest.fixture
def service(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[LocalService]:
    def fetch(self: Any, token: str, **kwargs: Any) -> dict[str, Any]:
        if "/" not in token:
            raise _exceptions.InvalidToken("no such token")
        return token_document(token)

    monkeypatch.setattr(AuthProtocol, "fetch_token", fetch)
    service = LocalService(f"sqlite:///{tmp_path}/hc.sqlite")
    options = tmp_path / "hc.conf"
    options.write_text("[keystone_authtoken]\nwww_authenticate_uri = http://keystone.example\n")
    conf = cfg.ConfigOpts()
    conf([], default_config_files=[str(options)], default_config_dirs=[])
    service.use_application(build_app(service.services, auth=AuthStrategy.KEYSTONE, conf=conf))
    yield service
    service.close()


def send_request(
    service: LocalService,
    requester: tuple[str, list[str]] | None,
    method: str,
    path: str,
    body: Any = None,
) -> Response:
    request = Request.blank(path, method=method)
    if requester is not None:
        request.headers["X-Auth-Token"] = f"{requester[0]}/{'+'.join(requester[1])}"
    if body is not None:
        request.json = body
    return request.get_response(service.app)


@pytest.fixture
def stack(service: LocalService) -> str:
    """Return the path of a stack of project p."""
    created = send_request(
        service, ("p", MEMBER), "POST", "/v1/p/stacks", {"stack_name": "s", "template": TEMPLATE}
    )
    assert created.status_int == 201, created.text
    return created.location.removeprefix("http://localhost")


def test_request_without_a_token_is_unauthorized(service: LocalService) -> None:
    response = send_request(service, None, "GET", "/v1/p/stacks")
    assert response.status_int == 401
    assert "Keystone" in response.headers["WWW-Authenticate"]
    assert response.headers["x-openstack-request-id"].startswith("req-")


def test_request_with_an_invalid_token_is_unauthorized(service: LocalService) -> None:
    request = Request.blank("/v1/p/stacks", headers={"X-Auth-Token": "bad"})
    assert request.get_response(service.app).status_int == 401


def test_public_documents_require_no_token(service: LocalService) -> None:
    assert send_request(service, None, "GET", "/").status_int == 300
    assert send_request(service, None, "GET", "/healthcheck").status_int == 200
    assert send_request(service, None, "GET", "/openapi.json").status_int == 200


def test_owner_of_a_stack_is_its_user(service: LocalService, stack: str) -> None:
    shown = send_request(service, ("p", READER), "GET", stack).json["stack"]
    assert shown["stack_owner"] == "ursula"


READS = [
    "",
    "/template",
    "/environment",
    "/files",
    "/outputs",
    "/resources",
    "/events",
    "/resources/r",
]
WRITES = [
    ("PUT", "", {"template": TEMPLATE}),
    ("PATCH", "", {"tags": "x"}),
    ("PATCH", "", None),
    ("PUT", "/preview", {"template": TEMPLATE}),
    ("POST", "/actions", {"suspend": None}),
    ("PATCH", "/resources/r", {"mark_unhealthy": True}),
    ("DELETE", "", None),
]


@pytest.mark.parametrize("subpath", READS)
def test_readers_may_read_and_stack_users_may_not(
    service: LocalService, stack: str, subpath: str
) -> None:
    assert send_request(service, ("p", READER), "GET", stack + subpath).status_int == 200
    assert send_request(service, ("p", STACK_USER), "GET", stack + subpath).status_int == 403


@pytest.mark.parametrize(("method", "subpath", "body"), WRITES)
def test_members_may_write_and_readers_may_not(
    service: LocalService, stack: str, method: str, subpath: str, body: Any
) -> None:
    refused = send_request(service, ("p", READER), method, stack + subpath, body)
    assert (refused.status_int, refused.json["error"]["type"]) == (403, "Forbidden")
    assert send_request(service, ("p", MEMBER), method, stack + subpath, body).status_int < 300


def test_stack_users_may_look_up_and_read_metadata(service: LocalService, stack: str) -> None:
    user = ("p", STACK_USER)
    assert send_request(service, user, "GET", "/v1/p/stacks/s").status_int == 302
    assert send_request(service, user, "GET", f"{stack}/resources/r/metadata").status_int == 200
    assert send_request(service, user, "GET", "/v1/p/stacks").status_int == 403


@pytest.mark.parametrize(
    ("method", "subpath", "body"),
    [*(("GET", subpath, None) for subpath in READS), *WRITES],
)
def test_stack_of_another_project_is_not_found(
    service: LocalService, stack: str, method: str, subpath: str, body: Any
) -> None:
    other = stack.replace("/v1/p/", "/v1/q/") + subpath
    response = send_request(service, ("q", MEMBER), method, other, body)
    assert (response.status_int, response.json["error"]["type"]) == (404, "EntityNotFound")
    missing = other.replace(stack.rsplit("/", 1)[1], "00000000-0000-0000-0000-000000000000")
    assert send_request(service, ("q", MEMBER), method, missing, body).json == response.json


def test_token_of_another_project_is_forbidden(service: LocalService, stack: str) -> None:
    response = send_request(service, ("q", MEMBER), "GET", stack)
    assert (response.status_int, response.json["error"]["type"]) == (403, "HTTPForbidden")


def test_administrator_lists_the_project_of_the_token(service: LocalService, stack: str) -> None:
    mine = send_request(service, ("q", ADMIN), "GET", "/v1/p/stacks")
    assert mine.json["stacks"] == []
    assert len(send_request(service, ("p", ADMIN), "GET", "/v1/x/stacks").json["stacks"]) == 1


def test_only_administrators_list_services(service: LocalService) -> None:
    assert send_request(service, ("p", ADMIN), "GET", "/v1/p/services").status_int == 200
    assert send_request(service, ("p", MEMBER), "GET", "/v1/p/services").status_int == 403


def test_nobody_lists_all_projects_by_default(service: LocalService) -> None:
    response = send_request(service, ("p", ADMIN), "GET", "/v1/p/stacks?global_tenant=true")
    assert response.status_int == 403


@pytest.mark.parametrize("name", ["OS::Nova::Flavor", "OS::Keystone::Project"])
def test_types_of_administrators_are_hidden_from_others(service: LocalService, name: str) -> None:
    """The rule of a type hides it from the list, and refuses its schema and its use."""

    def listed(roles: list[str]) -> list[str]:
        response = send_request(service, ("p", roles), "GET", "/v1/p/resource_types")
        found: list[str] = response.json["resource_types"]
        return found

    assert name in listed(ADMIN)
    assert name not in listed(MEMBER)
    assert "OS::Nova::Server" in listed(MEMBER)
    shown = f"/v1/p/resource_types/{name}"
    assert send_request(service, ("p", ADMIN), "GET", shown).status_int == 200
    body = {
        "stack_name": "s",
        "template": {**TEMPLATE, "resources": {"r": {"type": name}}},
    }
    for method, path, sent in (
        ("GET", shown, None),
        ("GET", f"{shown}/template", None),
        ("POST", "/v1/p/stacks", body),
    ):
        refused = send_request(service, ("p", MEMBER), method, path, sent)
        assert (refused.status_int, refused.json["error"]["type"]) == (403, "Forbidden")
        assert name in refused.json["error"]["message"]


@pytest.mark.parametrize("name", ["OS::Quantum::ProviderNet", "My::Flavor"])
def test_further_names_lead_round_no_rule(service: LocalService, name: str) -> None:
    environment = {"resource_registry": {"My::Flavor": "OS::Nova::Flavor"}}
    template = {**TEMPLATE, "resources": {"r": {"type": name}}}
    body = {"stack_name": "s", "template": template, "environment": environment}
    refused = send_request(service, ("p", MEMBER), "POST", "/v1/p/stacks", body)
    assert (refused.status_int, refused.json["error"]["type"]) == (403, "Forbidden"), refused.json
