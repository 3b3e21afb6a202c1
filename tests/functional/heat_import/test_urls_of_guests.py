"""Signed URLs, signals by token and metadata of guests work after the import, as in Heat.

The service answers at Heat's old address. Keystone is replaced: it knows the keys and users that
Heat has stored of the stacks.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from keystonemiddleware.auth_token import AuthProtocol
from oslo_config import cfg
from webob import Request, Response

from heat_convergence.api.app import build_app
from heat_convergence.api.cfn.app import build_cfn_app
from heat_convergence.api.context import AuthStrategy, StackUserDomain
from heat_convergence.clients.signed_urls import Signer, compute_signature, sign_url
from heat_convergence.clients.stack_users import Ec2Keys
from heat_convergence.common import errors
from heat_convergence.heat_import.imported_attributes import ServiceAddress
from tests.functional.harness import LocalService
from tests.functional.heat_import.heat_source import (
    PROJECT,
    Rows,
    heat_rows,
    import_all,
    rows_of,
    write_heat_database,
)

DOMAIN = "heat-domain"
HEAT = "http://heat:8000/v1"
ROLE = "heat_stack_user"


def stored(rows: Rows, stack: str, resource: str, key: str) -> str:
    """Return what Heat has stored of a resource, decrypted."""
    [owner] = rows_of(rows, "stack", name=stack)
    [row] = rows_of(rows, "resource", stack_id=owner["id"], name=resource)
    [found] = rows_of(rows, "resource_data", resource_id=row["id"], key=key)
    value = found["value"]
    return str(value["$encrypted"] if isinstance(value, dict) else value)


def keys_of(stack: str, resource: str) -> Ec2Keys:
    rows = heat_rows()
    names = ("access_key", "secret_key")
    return Ec2Keys(*(stored(rows, stack, resource, name) for name in names))


def id_of(stack: str) -> str:
    return str(rows_of(heat_rows(), "stack", name=stack)[0]["id"])


class StackUserKeystone:
    """The users and keys of imported stacks; a token is ``user id/stack id``."""

    def signer_of(self, credentials: Mapping[str, Any]) -> Signer:
        for stack, resource in (("asg", "up"), ("base", "aws_handle")):
            keys = keys_of(stack, resource)
            if credentials["access"] != keys.access:
                continue
            parts = (credentials[name] for name in ("verb", "host", "path", "params"))
            if compute_signature(keys.secret, *parts) == credentials["signature"]:
                user_id = stored(heat_rows(), stack, resource, "user_id")
                return Signer(user_id, "users", id_of(stack), DOMAIN, "heat", (ROLE,))
        raise errors.AuthorizationFailure("Keystone rejected the signature")

    def issue_token(self, credentials: Mapping[str, Any]) -> str:
        signer = self.signer_of(credentials)
        return f"{signer.user_id}/{signer.project_name}"

    def fetch(self, token: str) -> dict[str, Any]:
        user_id, _, stack_id = token.partition("/")
        domain = {"id": DOMAIN, "name": "heat"}
        return {
            "token": {
                "methods": ["password"],
                "issued_at": "2026-01-01T00:00:00.000000Z",
                "expires_at": "2126-01-01T00:00:00.000000Z",
                "user": {"id": user_id, "name": "guest", "domain": domain},
                "project": {"id": "users", "name": stack_id, "domain": domain},
                "is_admin_project": False,
                "roles": [{"id": ROLE, "name": ROLE}],
            }
        }


class OldAddress:
    """The service at Heat's address, as guests reach it.

    Attributes:
        service: As its owner sees it, without a login.
    """

    def __init__(self, service: LocalService, folder: Path) -> None:
        keystone = StackUserKeystone()
        options = folder / "hc.conf"
        options.write_text("[keystone_authtoken]\nwww_authenticate_uri = http://keystone\n")
        conf = cfg.ConfigOpts()
        conf([], default_config_files=[str(options)], default_config_dirs=[])
        services = replace(
            service.services,
            stack_user_domain=StackUserDomain(DOMAIN),
            find_signer=keystone.signer_of,
            issue_token=keystone.issue_token,
        )
        self.service = service
        self._rest = build_app(services, auth=AuthStrategy.KEYSTONE, conf=conf)
        self._cfn = build_cfn_app(services, auth=AuthStrategy.KEYSTONE, conf=conf)

    def send_signed(self, method: str, url: str, body: Any) -> Response:
        """Send a signal to a signed URL."""
        request = Request.blank(url, method=method)
        request.json = body
        response = request.get_response(self._cfn)
        self.service.run_until_idle()
        return response

    def send(self, token: str, method: str, path: str, body: Any = None) -> Response:
        """Send a request to the REST API with a token of a stack's user."""
        request = Request.blank(f"/v1/users{path}", method=method)
        request.headers["X-Auth-Token"] = token
        if body is not None:
            request.json = body
        response = request.get_response(self._rest)
        self.service.run_until_idle()
        return response

    def outputs(self, name: str) -> dict[str, Any]:
        """Return the outputs of a stack."""
        path = f"/stacks/{name}/{id_of(name)}"
        shown = self.service.send("GET", path, project=PROJECT).json["stack"]["outputs"]
        return {each["output_key"]: each["output_value"] for each in shown}


@pytest.fixture
def guests(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[OldAddress]:
    monkeypatch.setattr(
        AuthProtocol, "fetch_token", lambda _self, token, **_kw: StackUserKeystone().fetch(token)
    )
    service = LocalService(f"sqlite:///{tmp_path}/hc.sqlite", custom_constraints=None)
    address = ServiceAddress(waitcondition_url=f"{HEAT}/waitcondition")
    import_all(service, write_heat_database(tmp_path / "heat.sqlite"), address=address)
    yield OldAddress(service, tmp_path)
    service.close()


def test_old_alarm_url_scales_the_group(guests: OldAddress) -> None:
    locator = f"arn%3Aopenstack%3Aheat%3A%3A{PROJECT}%3Astacks/asg/{id_of('asg')}"
    held = sign_url(f"{HEAT}/signal/{locator}/resources/up", keys_of("asg", "up"))
    assert guests.outputs("asg")["url"] == held
    guests.service.clock.advance(400 * 86_400)
    size = guests.outputs("asg")["size"]
    assert guests.send_signed("POST", held, {}).status_int == 200
    assert guests.outputs("asg")["size"] == size + 1
    forged = held.replace("resources/up", "resources/asg")
    assert guests.send_signed("POST", forged, {}).status_int == 403


def test_signed_url_of_a_handle_takes_a_signal(guests: OldAddress) -> None:
    held = stored(heat_rows(), "base", "aws_handle", "ec2_signed_url").partition("?")[0]
    held = sign_url(held, keys_of("base", "aws_handle"), http_method="PUT")
    body = {"Status": "SUCCESS", "Reason": "r", "Data": "word", "UniqueId": "1"}
    answer = guests.send_signed("PUT", held, body)
    assert answer.status_int == 200, answer.text
    path = f"/stacks/base/{id_of('base')}/resources/aws_handle/metadata"
    metadata = guests.service.send("GET", path, project=PROJECT).json["metadata"]
    assert metadata["1"]["Data"] == "word"


def test_user_of_a_handle_signals_its_wait_condition(guests: OldAddress) -> None:
    user_id = stored(heat_rows(), "wait", "handle", "user_id")
    path = f"/stacks/wait/{id_of('wait')}/resources/handle/signal"
    body = {"status": "SUCCESS", "reason": "r", "data": "word", "id": "1"}
    answer = guests.send(f"{user_id}/{id_of('wait')}", "POST", path, body)
    assert answer.status_int == 200, answer.text
    stack = f"/stacks/wait/{id_of('wait')}"
    assert guests.service.send("PATCH", stack, {}, project=PROJECT).status_int == 202
    assert json.loads(guests.outputs("wait")["data"]) == {"1": "word"}


def test_agent_of_a_server_reads_its_metadata(guests: OldAddress) -> None:
    user_id = stored(heat_rows(), "base", "server", "user_id")
    path = f"/stacks/base/{id_of('base')}/resources/server/metadata"
    answer = guests.send(f"{user_id}/{id_of('base')}", "GET", path)
    assert answer.status_int == 200, answer.text
    [deployment] = answer.json["metadata"]["deployments"]
    assert deployment["config"] == "#!/bin/sh\necho hi"
    other = guests.send(f"another/{id_of('base')}", "GET", path)
    assert other.status_int == 403
