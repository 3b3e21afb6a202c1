"""Access of the users that stacks create, by token and by signed URL.

Keystone itself is replaced: ``FakeTokenValidation`` describes tokens and signatures.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from keystonemiddleware.auth_token import AuthProtocol
from oslo_config import cfg
from webob import Request, Response

from heat_convergence.api.app import build_app
from heat_convergence.api.context import AuthStrategy, StackUserDomain
from heat_convergence.clients import signed_urls
from heat_convergence.clients.signed_urls import Signer
from heat_convergence.clients.stack_users import Ec2Keys
from heat_convergence.common import errors
from heat_convergence.db.statements import software
from heat_convergence.db.statements.software import SoftwareConfigRow, SoftwareDeploymentRow
from heat_convergence.resources.protocol.verb_values import (
    ResourceContext,
    SignalResult,
    VerbResult,
)
from tests.functional.harness import LocalService
from tests.functional.lifecycle.test_signals import SignalCountingType

TEMPLATE = {
    "heat_template_version": "2016-10-14",
    "resources": {
        "receiver": {"type": "Test::UserOwnedSignal", "metadata": {"note": "this"}},
        "plain": {
            "type": "OS::Heat::Value",
            "properties": {"value": 1},
            "metadata": {"note": "this"},
        },
    },
}


class UserOwnedSignalType(SignalCountingType):
    """A resource type that counts signals and has the user ``u``."""

    name = "Test::UserOwnedSignal"

    def create(self, view: ResourceContext) -> VerbResult:
        return replace(super().create(view), data={"user_id": "u"})

    def signal(self, view: ResourceContext, details: Any) -> SignalResult:
        result = super().signal(view, details)
        return replace(result, data={**view.data, **(result.data or {})})


KEYS = Ec2Keys("access", "secret-of-the-keys")
DOMAIN = "heat-domain"


class FakeTokenValidation:
    """Tokens are ``domain/project id/project name/role``; ``signer`` is the owner of KEYS."""

    def __init__(self) -> None:
        self.signer = Signer("u", "users", "nothing", DOMAIN, "heat", ("heat_stack_user",))

    def fetch(self, token: str) -> dict[str, Any]:
        domain, project_id, name, role = token.split("/")
        domain_document = {"id": domain, "name": domain}
        return {
            "token": {
                "methods": ["password"],
                "issued_at": "2026-01-01T00:00:00.000000Z",
                "expires_at": "2126-01-01T00:00:00.000000Z",
                "user": {"id": "u", "name": "u", "domain": domain_document},
                "project": {"id": project_id, "name": name, "domain": domain_document},
                "is_admin_project": False,
                "roles": [{"id": role, "name": role}],
            }
        }

    def signer_of(self, credentials: Mapping[str, Any]) -> Signer:
        expected = signed_urls.compute_signature(
            KEYS.secret,
            credentials["verb"],
            credentials["host"],
            credentials["path"],
            credentials["params"],
        )
        if credentials["access"] != KEYS.access or credentials["signature"] != expected:
            raise errors.AuthorizationFailure("no")
        return self.signer


@pytest.fixture
def keystone(monkeypatch: pytest.MonkeyPatch) -> FakeTokenValidation:
    keystone = FakeTokenValidation()
    monkeypatch.setattr(
        AuthProtocol, "fetch_token", lambda _self, token, **_kw: keystone.fetch(token)
    )
    return keystone


@pytest.fixture
def service(tmp_path: Any, keystone: FakeTokenValidation) -> Iterator[LocalService]:
    service = LocalService(f"sqlite:///{tmp_path}/hc.sqlite", types=(UserOwnedSignalType(),))
    service.services = replace(
        service.services, stack_user_domain=StackUserDomain(DOMAIN), find_signer=keystone.signer_of
    )
    service.use_application(build_service_app(service, tmp_path))
    yield service
    service.close()


def build_service_app(service: LocalService, folder: Path, policy: str = "") -> Any:
    """Return the application with keystonemiddleware and options of ``[oslo_policy]``."""
    options = folder / "hc.conf"
    options.write_text(
        "[keystone_authtoken]\nwww_authenticate_uri = http://keystone.example\n"
        f"[oslo_policy]\n{policy}\n"
    )
    conf = cfg.ConfigOpts()
    conf([], default_config_files=[str(options)], default_config_dirs=[])
    return build_app(service.services, auth=AuthStrategy.KEYSTONE, conf=conf)


def send_request(
    service: LocalService, token: str | None, method: str, path: str, body: Any = None
) -> Response:
    request = Request.blank(path, method=method)
    if token is not None:
        request.headers["X-Auth-Token"] = token
    if body is not None:
        request.json = body
    return request.get_response(service.app)


OWNER, READER = "default/p/p/member", "default/p/p/reader"


@pytest.fixture
def stack_id(service: LocalService) -> str:
    send_request(
        service,
        "default/p/p/member",
        "POST",
        "/v1/p/stacks",
        {"stack_name": "other", "template": TEMPLATE},
    )
    created = send_request(
        service, OWNER, "POST", "/v1/p/stacks", {"stack_name": "s", "template": TEMPLATE}
    )
    return str(created.json["stack"]["id"])


def user_of(stack_id: str, *, domain: str = DOMAIN, role: str = "heat_stack_user") -> str:
    return f"{domain}/users/{stack_id}/{role}"


def signal_count(service: LocalService, stack_id: str) -> int:
    """Return the number of signals among the events of the stack's receiver."""
    found = send_request(
        service,
        "default/p/p/reader",
        "GET",
        f"/v1/p/stacks/s/{stack_id}/resources/receiver/events",
    ).json["events"]
    return sum(
        "ignal" in event["resource_status_reason"] or "SIGNAL" in event["resource_status"]
        for event in found
    )


def test_stack_user_signals_and_reads_metadata(service: LocalService, stack_id: str) -> None:
    resources_path = f"/v1/users/stacks/s/{stack_id}/resources"
    user = user_of(stack_id)
    assert (
        send_request(
            service, user, "POST", f"{resources_path}/receiver/signal", {"a": 1}
        ).status_int
        == 200
    )
    assert signal_count(service, stack_id) == 1
    reported = send_request(service, user, "GET", f"{resources_path}/receiver/metadata")
    assert reported.json == {"metadata": {"note": "this"}}


def test_user_of_a_resource_cannot_reach_another_resource(
    service: LocalService, stack_id: str
) -> None:
    resources_path = f"/v1/users/stacks/s/{stack_id}/resources"
    for method, path in (("GET", "plain/metadata"), ("POST", "plain/signal")):
        response = send_request(service, user_of(stack_id), method, f"{resources_path}/{path}")
        assert (response.status_int, response.json["error"]["type"]) == (403, "Forbidden")
    path = f"/v1/p/stacks/s/{stack_id}/resources/plain/metadata"
    owner = send_request(service, "default/p/p/reader", "GET", path)
    assert owner.status_int == 200


def test_signed_url_of_another_resources_user_is_refused(
    service: LocalService, keystone: FakeTokenValidation, stack_id: str
) -> None:
    keystone.signer = replace(keystone.signer, project_name=stack_id, user_id="another")
    assert send_request(service, None, "POST", signed(stack_id), {}).status_int == 403
    assert signal_count(service, stack_id) == 0


def test_stack_user_finds_its_stack_by_name_or_id(service: LocalService, stack_id: str) -> None:
    for key in ("s", stack_id):
        found = send_request(service, user_of(stack_id), "GET", f"/v1/users/stacks/{key}")
        assert found.status_int == 302
        assert found.location == f"http://localhost/v1/users/stacks/s/{stack_id}"
    assert (
        send_request(service, user_of(stack_id), "GET", "/v1/users/stacks/other").status_int == 404
    )


@pytest.mark.parametrize(
    ("method", "subpath"),
    [
        ("GET", ""),
        ("DELETE", ""),
        ("GET", "/template"),
        ("GET", "/environment"),
        ("GET", "/outputs"),
        ("GET", "/resources"),
        ("GET", "/resources/receiver"),
        ("GET", "/events"),
    ],
)
def test_stack_user_may_not_call_other_routes(
    service: LocalService, stack_id: str, method: str, subpath: str
) -> None:
    path = f"/v1/users/stacks/s/{stack_id}{subpath}"
    assert send_request(service, user_of(stack_id), method, path).status_int == 403


@pytest.mark.parametrize(
    "token",
    [
        "heat-domain/users/another-stack/heat_stack_user",
        "default/users/{}/heat_stack_user",
        "heat-domain/users/{}/reader",
    ],
)
def test_other_tokens_do_not_find_the_stack(
    service: LocalService, stack_id: str, token: str
) -> None:
    path = f"/v1/users/stacks/s/{stack_id}/resources/receiver/signal"
    response = send_request(service, token.format(stack_id), "POST", path, {})
    assert response.status_int == 404
    assert signal_count(service, stack_id) == 0


def signed(
    stack_id: str, *, resource: str = "receiver", verb: str = "POST", route: str = "signal"
) -> str:
    arn = f"arn%3Aopenstack%3Aheat%3A%3Ap%3Astacks/s/{stack_id}/resources/{resource}"
    url = f"http://localhost/v1/{route}/{arn}"
    return signed_urls.sign_url(url, KEYS, http_method=verb)


def test_signed_url_sends_a_signal(
    service: LocalService, keystone: FakeTokenValidation, stack_id: str
) -> None:
    keystone.signer = replace(keystone.signer, project_name=stack_id)
    url = signed(stack_id)
    request = Request.blank(url, method="POST", body=b'{"a": 1}')
    request.content_type = "application/x-www-form-urlencoded"  # as curl sends it
    response = request.get_response(service.app)
    assert response.status_int == 200, response.text
    url = signed(stack_id, verb="PUT", route="waitcondition")
    assert send_request(service, None, "PUT", url, {}).status_int == 200
    assert signal_count(service, stack_id) == 2


def test_signature_is_valid_for_one_resource_and_one_method(
    service: LocalService, keystone: FakeTokenValidation, stack_id: str
) -> None:
    keystone.signer = replace(keystone.signer, project_name=stack_id)
    url = signed(stack_id)
    for changed, method in (
        (url.replace("/receiver", "/plain"), "POST"),
        (url, "PUT"),
        (url.replace("Signature=", "Signature=x"), "POST"),
        (url.partition("?")[0], "POST"),
    ):
        response = send_request(service, None, method, changed, {})
        assert response.status_int == 403
        assert response.json["error"]["type"] == "HTTPForbidden"
    assert send_request(service, None, "GET", url).status_int == 405
    assert send_request(service, None, "POST", "/v1/signal/arn:nonsense", {}).status_int == 404
    assert signal_count(service, stack_id) == 0


def test_keys_of_another_stack_do_not_find_the_stack(
    service: LocalService, keystone: FakeTokenValidation, stack_id: str
) -> None:
    keystone.signer = replace(keystone.signer, project_name="another-stack")
    assert send_request(service, None, "POST", signed(stack_id), {}).status_int == 404
    keystone.signer = replace(keystone.signer, project_name=stack_id, project_domain_id="x")
    assert send_request(service, None, "POST", signed(stack_id), {}).status_int == 404
    assert signal_count(service, stack_id) == 0


def deploy(service: LocalService, server_id: str, *, project_id: str = "p") -> None:
    """Store a deployment for a server whose agents' project is ``users``."""
    now, key = service.clock(), f"{project_id}-{server_id}"
    config = SoftwareConfigRow(key, project_id, key, "script", {}, now)
    deployment = SoftwareDeploymentRow(
        id=key,
        project_id=project_id,
        server_id=server_id,
        config_id=config.id,
        action="CREATE",
        status="IN_PROGRESS",
        status_reason="",
        created_at=now,
        stack_user_project_id="users" if project_id == "p" else None,
    )
    with service.database.write() as connection:
        software.insert_config(connection, config)
        software.insert_deployment(connection, deployment)


def physical_id(service: LocalService, stack_id: str, name: str) -> str:
    path = f"/v1/p/stacks/s/{stack_id}/resources/{name}"
    shown = send_request(service, READER, "GET", path).json["resource"]
    return str(shown["physical_resource_id"])


def test_agent_reads_the_deployments_of_its_own_server(
    service: LocalService, stack_id: str
) -> None:
    own, other = (physical_id(service, stack_id, name) for name in ("receiver", "plain"))
    for server_id in (own, other, "elsewhere"):
        deploy(service, server_id)
    path = "/v1/users/software_deployments/metadata"
    read = send_request(service, user_of(stack_id), "GET", f"{path}/{own}")
    assert [each["name"] for each in read.json["metadata"]] == [f"p-{own}"]
    for server_id in (other, "elsewhere"):
        refused = send_request(service, user_of(stack_id), "GET", f"{path}/{server_id}")
        assert (refused.status_int, refused.json["error"]["type"]) == (403, "Forbidden")
    assert (
        send_request(service, user_of(stack_id), "GET", f"{path}/unknown").json["metadata"] == []
    )


def test_agent_of_another_stack_reads_no_deployment(service: LocalService, stack_id: str) -> None:
    own = physical_id(service, stack_id, "receiver")
    deploy(service, own)
    path = f"/v1/users/software_deployments/metadata/{own}"
    assert send_request(service, user_of("another-tree"), "GET", path).status_int == 403


def test_agent_does_not_read_a_deployment_of_another_project(
    service: LocalService, stack_id: str
) -> None:
    own = physical_id(service, stack_id, "receiver")
    deploy(service, own, project_id="q")
    for token in (user_of(stack_id), READER):
        project = token.split("/")[1]
        path = f"/v1/{project}/software_deployments/metadata/{own}"
        assert send_request(service, token, "GET", path).json["metadata"] == []
    listed = send_request(service, READER, "GET", f"/v1/p/software_deployments?server_id={own}")
    assert listed.json["software_deployments"] == []


def test_policies_cannot_open_other_routes_to_stack_users(
    service: LocalService, stack_id: str, tmp_path: Any
) -> None:
    rules = ("resource:index", "stacks:show", "stacks:delete", "software_configs:index")
    policy_file = tmp_path / "open.yaml"
    policy_file.write_text("".join(f'"{rule}": ""\n' for rule in rules))
    service.use_application(build_service_app(service, tmp_path, f"policy_file = {policy_file}"))
    stack_path = f"/v1/users/stacks/s/{stack_id}"
    for method, path in (
        ("GET", f"{stack_path}/resources"),
        ("GET", stack_path),
        ("DELETE", stack_path),
        ("GET", "/v1/users/software_configs"),
    ):
        assert send_request(service, user_of(stack_id), method, path).status_int == 403
    member = send_request(service, "default/p/p/nothing", "GET", f"/v1/p/stacks/s/{stack_id}")
    assert member.status_int == 200  # the rules are open to others
