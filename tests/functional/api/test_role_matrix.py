"""Access of two projects and three roles to every route: allowed, forbidden or not found.

Uses the real keystonemiddleware and oslo.policy; the token itself carries the data that
Keystone would return for it (``test_identity``).  Source: docs/reference/rest-api.rst, "Routes".
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from keystonemiddleware.auth_token import AuthProtocol
from oslo_config import cfg
from webob import Request, Response

from heat_convergence.api.app import build_app
from heat_convergence.api.context import AuthStrategy
from heat_convergence.api.routes import ROUTES, Route
from heat_convergence.api.services import ApiOptions
from tests.functional.api.test_access_control import token_document
from tests.functional.harness import LocalService

Json = Any
TEMPLATE = {
    "heat_template_version": "2016-10-14",
    "resources": {"r": {"type": "OS::Heat::Value", "properties": {"value": 1}}},
    "outputs": {"o": {"value": 1}},
}
ROLES = {
    "reader": "reader",
    "member": "member+reader",
    "admin": "admin+member+reader",
    "heat_stack_user": "heat_stack_user",
    "nothing": "other",
}
READ = frozenset({"reader", "member", "admin"})
WRITE = frozenset({"member", "admin"})
ADMIN = frozenset({"admin"})
WITH_STACK_USERS = READ | {"heat_stack_user"}
# By handler, which is one for the several methods of a lookup.
ALLOWED = {
    "templates.validate": WRITE, "types.index": READ, "types.show": READ,
    "types.template": WRITE, "templates.versions": READ, "templates.functions": READ,
    "stacks.index": READ, "stacks.detail": READ, "stacks.show": READ,
    "stacks.template": READ, "stacks.environment": READ, "stacks.files": READ,
    "changes.create": WRITE, "changes.update": WRITE, "changes.patch": WRITE,
    "changes.delete": WRITE, "previews.create": READ, "previews.update": WRITE,
    "previews.patch": WRITE, "handover.abandon": WRITE, "handover.export": WRITE,
    "snapshots.create": WRITE, "snapshots.index": READ, "snapshots.show": READ,
    "snapshots.delete": WRITE, "snapshots.restore": WRITE,
    "outputs.index": READ, "outputs.show": READ,
    "resources.index": READ, "resources.show": READ, "resources.metadata": WITH_STACK_USERS,
    "signals.signal": WITH_STACK_USERS, "health.mark_unhealthy": WRITE,
    "events.index": READ, "events.resource_index": READ, "events.show": READ,
    "actions.action": WRITE, "info.build_info": READ, "info.service_list": ADMIN,
    "configs.index": READ, "configs.create": WRITE, "configs.show": READ,
    "configs.delete": WRITE, "deployments.index": READ, "deployments.create": WRITE,
    "deployments.show": READ, "deployments.update": WRITE, "deployments.delete": WRITE,
    "deployments.metadata": WITH_STACK_USERS,
}  # fmt: skip
BODIES: dict[str, Json] = {
    "templates.validate": {"template": TEMPLATE},
    "changes.create": {"stack_name": "t", "template": TEMPLATE},
    "previews.create": {"stack_name": "t", "template": TEMPLATE},
    "changes.update": {"template": TEMPLATE}, "changes.patch": {"tags": "x"},
    "previews.update": {"template": TEMPLATE}, "previews.patch": {"tags": "x"},
    "actions.action": {"suspend": None}, "health.mark_unhealthy": {"mark_unhealthy": True},
    "snapshots.create": {}, "snapshots.restore": {}, "signals.signal": {},
    "configs.create": {"name": "n"}, "deployments.update": {"status": "COMPLETE"},
}  # fmt: skip
MISSING_ID = "00000000-0000-0000-0000-000000000000"


def roles_for(route: Route) -> frozenset[str]:
    return WITH_STACK_USERS if route.handler.startswith("lookup.") else ALLOWED[route.handler]


class TwoProjectService:
    """Project p has an object of every type; q has none."""

    def __init__(self, service: LocalService) -> None:
        self.service = service
        stack = self.p("POST", "/stacks", {"stack_name": "s", "template": TEMPLATE}).json["stack"]
        path = f"/stacks/s/{stack['id']}"
        snapshot = self.p("POST", f"{path}/snapshots", {}).json
        config = self.p("POST", "/software_configs", {"name": "c"}).json["software_config"]
        body = {"config_id": config["id"], "server_id": "server-of-p"}
        deployed = self.p("POST", "/software_deployments", body).json["software_deployment"]
        event = self.p("GET", f"{path}/resources/r/events").json["events"][0]
        self.names = {
            "stack_name": "s", "stack_id": stack["id"], "resource_name": "r",
            "output_key": "o", "snapshot_id": snapshot["id"], "event_id": event["id"],
            "config_id": config["id"], "deployment_id": deployed["id"],
            "server_id": "server-of-p", "type_name": "OS::Heat::Value",
            "template_version": "heat_template_version.2018-08-31", "subpath": "resources",
        }  # fmt: skip

    def p(self, method: str, path: str, body: Json = None) -> Response:
        response = self.send("p", "member", method, f"/v1/p{path}", body)
        assert response.status_int < 300, response.text
        return response

    def send(self, project: str, role: str, method: str, path: str, body: Json) -> Response:
        request = Request.blank(path, method=method)
        request.headers["X-Auth-Token"] = f"{project}/{ROLES[role]}"
        if body is not None:
            request.json = body
        return request.get_response(self.service.app)

    def call(
        self,
        route: Route,
        project: str,
        role: str,
        *,
        url: str = "",
        names: dict[str, str] | None = None,
    ) -> Response:
        names = names or self.names
        path = route.path.replace("{stack_name:arn:.*}", f"arn:openstack:heat::p:stacks/"
                                  f"{names['stack_name']}/{names['stack_id']}")  # fmt: skip
        for name, value in names.items():
            path = path.replace("{" + name + "}", value)
        path = _without_patterns(path, names)
        body = BODIES.get(route.handler)
        if route.handler == "deployments.create":
            body = {"config_id": names["config_id"], "server_id": "x"}
        return self.send(project, role, route.method, f"/v1/{url or project}{path}", body)


def _without_patterns(path: str, names: dict[str, str]) -> str:
    """Replace ``{subpath:a|b}`` by the requested subpath."""
    head, brace, rest = path.partition("{subpath:")
    return head + names["subpath"] + rest.partition("}")[2] if brace else path


@pytest.fixture
def projects(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[TwoProjectService]:
    monkeypatch.setattr(
        AuthProtocol, "fetch_token", lambda _self, token, **_kw: token_document(token)
    )
    options = ApiOptions(enable_stack_abandon=True, enable_stack_adopt=True)
    service = LocalService(f"sqlite:///{tmp_path}/hc.sqlite", options)
    conf = cfg.ConfigOpts()
    file = tmp_path / "hc.conf"
    file.write_text("[keystone_authtoken]\nwww_authenticate_uri = http://keystone.example\n")
    conf([], default_config_files=[str(file)], default_config_dirs=[])
    service.use_application(build_app(service.services, auth=AuthStrategy.KEYSTONE, conf=conf))
    yield TwoProjectService(service)
    service.close()


def route_id(route: Route) -> str:
    return f"{route.method} {route.path}"


@pytest.mark.parametrize("route", ROUTES, ids=route_id)
def test_only_allowed_roles_may_call_the_route(projects: TwoProjectService, route: Route) -> None:
    """The refused roles call first, so that they find what the route deletes."""
    allowed = roles_for(route)
    for role in sorted(ROLES.keys() - allowed):
        response = projects.call(route, "p", role)
        assert (response.status_int, response.json["error"]["type"]) == (403, "Forbidden"), role
    for role in sorted(allowed):
        response = projects.call(route, "p", role)
        assert response.status_int not in (401, 403), (role, response.text)
        assert response.status_int < 500, (role, response.text)


@pytest.mark.parametrize("route", ROUTES, ids=route_id)
def test_token_of_another_project_is_forbidden(projects: TwoProjectService, route: Route) -> None:
    response = projects.call(route, "q", "member", url="p")
    assert (response.status_int, response.json["error"]["type"]) == (403, "HTTPForbidden")
    missing = projects.call(route, "q", "member", url="p", names=missing_names(projects, "t"))
    assert missing.json == response.json


# These create an object of project q, whatever project p has.
CREATES_OBJECT = {"changes.create", "previews.create", "configs.create"}
READS_OR_CHANGES_OBJECT = [route for route in ROUTES if route.handler not in CREATES_OBJECT]


@pytest.mark.parametrize("route", READS_OR_CHANGES_OBJECT, ids=route_id)
@pytest.mark.parametrize("role", ["member", "admin"])
def test_another_projects_objects_are_not_found(
    projects: TwoProjectService, route: Route, role: str
) -> None:
    """Existing and missing objects get the same response except for the requested ids."""
    existing = projects.call(route, "q", role)
    missing = projects.call(route, "q", role, names=missing_names(projects, "s"))
    assert existing.status_int == missing.status_int
    assert _mask_ids(existing.text, projects.names) == _mask_ids(
        missing.text, missing_names(projects, "s")
    )
    if route.method == "GET" and existing.status_int == 200:
        for name in ("stack_id", "config_id", "deployment_id", "snapshot_id"):
            assert projects.names[name] not in existing.text
    shown = projects.p("GET", f"/stacks/s/{projects.names['stack_id']}").json["stack"]
    assert shown["stack_status"] == "SNAPSHOT_COMPLETE"


def missing_names(projects: TwoProjectService, stack_name: str) -> dict[str, str]:
    """Return the same names with ids that do not exist."""
    found = {key: MISSING_ID if key.endswith("_id") else value
             for key, value in projects.names.items()}  # fmt: skip
    return found | {"stack_name": stack_name, "server_id": "missing-server"}


def _mask_ids(text: str, names: dict[str, str]) -> str:
    for key in ("stack_id", "snapshot_id", "event_id", "config_id", "deployment_id", "server_id"):
        text = text.replace(names[key], "…")
    return text


def test_role_table_has_every_route() -> None:
    named = {route.handler for route in ROUTES if not route.handler.startswith("lookup.")}
    assert named == ALLOWED.keys()
    assert len(ROUTES) >= 61
