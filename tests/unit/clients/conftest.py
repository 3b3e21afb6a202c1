"""A fake Keystone and the service's clients of it."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from keystoneauth1.access import AccessInfoV3
from keystoneauth1.identity.v3 import Token
from keystoneauth1.session import Session
from oslo_config import cfg

from heat_convergence.clients.auth import ServiceAuth
from heat_convergence.clients.keystone import CredentialIssuer, Requester
from heat_convergence.clients.settings import ClientSettings
from heat_convergence.conf import opts
from tests.unit.clients.fake_keystone import SERVICE_PASSWORD, SERVICE_USER, FakeKeystone


@pytest.fixture
def fake(caplog: pytest.LogCaptureFixture) -> Iterator[FakeKeystone]:
    """Provide a fake Keystone; no secret of it may be logged, even at DEBUG."""
    caplog.set_level(logging.DEBUG)
    fake = FakeKeystone()
    yield fake
    fake.close()
    logged = "\n".join(record.getMessage() for record in caplog.get_records("call"))
    assert not [secret for secret in fake.secrets() if secret in logged]


@pytest.fixture
def service(fake: FakeKeystone, tmp_path: Path) -> ServiceAuth:
    path = tmp_path / "hc.conf"
    path.write_text(
        "[keystone_authtoken]\nauth_type = password\n"
        f"auth_url = {fake.url}\nusername = {SERVICE_USER}\npassword = {SERVICE_PASSWORD}\n"
        "user_domain_id = default\nproject_name = service\nproject_domain_id = default\n"
    )
    conf = cfg.ConfigOpts()
    opts.register_all_opts(conf)
    conf([], default_config_files=[str(path)], default_config_dirs=[])
    return ServiceAuth(conf)


@pytest.fixture
def requester(fake: FakeKeystone) -> Requester:
    return requester_of(fake)


def requester_of(fake: FakeKeystone, *roles: str, password: str | None = None) -> Requester:
    """Return the user demo in project p, with a token."""
    return Requester(
        user_id="demo-id",
        project_id="p",
        roles=roles or ("member", "reader"),
        auth=FakeTokenAuth(fake, "demo-id"),
        region="R",
        password=password,
    )


class FakeTokenAuth(Token):
    """keystonemiddleware's plug-in: a token with its catalog."""

    def __init__(self, fake: FakeKeystone, user_id: str) -> None:
        self._fake = fake
        self._token = fake.token_for(user_id)
        super().__init__(fake.url, token=self._token, reauthenticate=False)

    def get_auth_ref(self, session: Session, **kwargs: Any) -> AccessInfoV3:
        document = self._fake.token_document(self._fake.tokens[self._token])
        return access_of(self._token, document)


def access_of(token: str, document: Mapping[str, Any]) -> AccessInfoV3:
    return AccessInfoV3({"token": document}, auth_token=token)


def create_issuer(service: ServiceAuth, **settings: Any) -> CredentialIssuer:
    return CredentialIssuer(ClientSettings(**settings), service)
