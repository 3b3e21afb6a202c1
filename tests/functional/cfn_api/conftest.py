"""The CloudFormation API over HTTP, with an answer of Keystone to signatures."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any
from wsgiref.simple_server import WSGIRequestHandler, make_server

import boto3
import pytest
from botocore.config import Config
from keystoneclient.contrib.ec2.utils import Ec2Signer
from keystonemiddleware.auth_token import AuthProtocol
from oslo_config import cfg

from heat_convergence.api.app import build_app
from heat_convergence.api.cfn.app import build_cfn_app
from heat_convergence.api.context import AuthStrategy, StackUserDomain
from heat_convergence.clients.signed_urls import Signer
from heat_convergence.common import errors
from heat_convergence.convergence.model.job import ObservedState
from heat_convergence.resources.aws.iam.users import IamUser
from heat_convergence.resources.builtin.local_type import LocalType
from heat_convergence.resources.protocol.schema import AttributeSchema, PropertyType, TypeSchema
from heat_convergence.resources.protocol.verb_values import (
    ResourceContext,
    SignalResult,
    VerbResult,
)
from tests.functional.harness import LocalService

DOMAIN = "heat-domain"
KEYS = {"access": "secret-one", "other": "secret-two", "reader": "secret-three"}
TOKENS = {
    "access": "default/p/p/member",
    "other": "default/q/q/member",
    "reader": "default/p/p/reader",
}

IMPLIED = {"member": ("member", "reader")}


class AgentType(LocalType):
    """A resource type whose agent is the user ``u``, and that records its last signal."""

    name = "Test::Agent"
    schema = TypeSchema(attributes={"signal": AttributeSchema(PropertyType.MAP, "The signal.")})

    def create(self, view: ResourceContext) -> VerbResult:
        return VerbResult(ObservedState.READY, physical_id="x", data={"user_id": "u"})

    def signal(self, view: ResourceContext, details: Any) -> SignalResult:
        return SignalResult(data={**view.data, "signal": details})

    def attribute(self, context: ResourceContext, name: str) -> Any:
        return context.data.get(name)


class DeclaredUser(IamUser):
    """The type of users that templates declare, without Keystone: it is the user ``u``."""

    name = "Test::User"

    def create(self, context: ResourceContext) -> VerbResult:
        result = super().create(context)
        return replace(result, physical_id="u", data={**(result.data or {}), "user_id": "u"})


class SignatureKeystone:
    """Verifies signatures as Keystone's ``ec2tokens`` does; tokens say what they are for."""

    def __init__(self) -> None:
        self.keys = dict(KEYS)
        self.tokens = dict(TOKENS)

    def issue_token(self, credentials: Mapping[str, Any]) -> str:
        secret = self.keys.get(credentials["access"])
        if secret is None:
            raise errors.AuthorizationFailure("Nobody has this access key")
        signed = {**credentials, "params": dict(credentials["params"])}
        if Ec2Signer(secret).generate(signed) != credentials["signature"]:
            raise errors.AuthorizationFailure("Keystone rejected the signature")
        signed_at = signed["params"].get("Timestamp") or signed.get("headers", {}).get(
            "X-Amz-Date"
        )
        if signed_at and datetime.now(UTC) > parse(signed_at) + timedelta(minutes=15):
            raise errors.AuthorizationFailure("Credential is expired")
        return self.tokens[credentials["access"]]

    def signer_of(self, credentials: Mapping[str, Any]) -> Signer:
        """Return who has signed a URL, as the service account asks Keystone."""
        domain, project_id, name, role = self.issue_token(credentials).split("/")
        return Signer("u", project_id, name, domain, domain, (role,))

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
                "roles": [{"id": each, "name": each} for each in IMPLIED.get(role, (role,))],
            }
        }


def parse(text: str) -> datetime:
    """Return the time of a signature, in either form."""
    compact = "-" not in text
    found = datetime.strptime(text, "%Y%m%dT%H%M%SZ" if compact else "%Y-%m-%dT%H:%M:%SZ")
    return found.replace(tzinfo=UTC)


@pytest.fixture
def keystone(monkeypatch: pytest.MonkeyPatch) -> SignatureKeystone:
    keystone = SignatureKeystone()
    monkeypatch.setattr(
        AuthProtocol, "fetch_token", lambda _self, token, **_kw: keystone.fetch(token)
    )
    return keystone


@pytest.fixture
def service(tmp_path: Any, keystone: SignatureKeystone) -> Iterator[LocalService]:
    """The service whose ``app`` is the CloudFormation API."""
    service = LocalService(f"sqlite:///{tmp_path}/hc.sqlite", types=(AgentType(), DeclaredUser()))
    service.services = replace(
        service.services,
        stack_user_domain=StackUserDomain(DOMAIN),
        issue_token=keystone.issue_token,
        find_signer=keystone.signer_of,
    )
    conf = _keystone_options(tmp_path)
    app = build_cfn_app(service.services, auth=AuthStrategy.KEYSTONE, conf=conf)
    service.use_application(app)
    yield service
    service.close()


class _QuietHandler(WSGIRequestHandler):
    def log_message(self, *args: object) -> None:
        pass


def _keystone_options(folder: Any) -> cfg.ConfigOpts:
    options = folder / "hc.conf"
    options.write_text("[keystone_authtoken]\nwww_authenticate_uri = http://keystone.example\n")
    conf = cfg.ConfigOpts()
    conf([], default_config_files=[str(options)], default_config_dirs=[])
    return conf


@pytest.fixture
def url(service: LocalService) -> Iterator[str]:
    """The URL of the API."""
    with _served(service.app) as address:
        yield f"{address}/v1/"


@pytest.fixture
def orchestration_url(service: LocalService, tmp_path: Any) -> Iterator[str]:
    """The URL of the Orchestration API for the project ``users`` of the stacks' users."""
    conf = _keystone_options(tmp_path)
    app = build_app(service.services, auth=AuthStrategy.KEYSTONE, conf=conf)
    with _served(app) as address:
        yield f"{address}/v1/users"


@contextmanager
def _served(app: Any) -> Iterator[str]:
    """Serve an application over HTTP on this machine."""
    server = make_server("127.0.0.1", 0, app, handler_class=_QuietHandler)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    thread.join()
    server.server_close()


Connect = Callable[..., Any]


@pytest.fixture
def connect(url: str) -> Connect:
    """Return a CloudFormation client of boto3 for an access key."""

    def client(access: str = "access", secret: str | None = None) -> Any:
        return boto3.client(
            "cloudformation",
            endpoint_url=url,
            region_name="heat",
            aws_access_key_id=access,
            aws_secret_access_key=secret or KEYS[access],
            config=Config(retries={"total_max_attempts": 1}),
        )

    return client
