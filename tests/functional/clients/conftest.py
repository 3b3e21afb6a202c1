"""A fake Keystone and the service's clients of it."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from keystoneauth1.access import AccessInfoV3
from keystoneauth1.identity.v3 import Token
from keystoneauth1.session import Session
from oslo_config import cfg

from heat_convergence.clients.auth import ServiceAuth
from heat_convergence.clients.clouds import StackCloudCache
from heat_convergence.clients.credentials import Credential
from heat_convergence.clients.delegation import Delegation
from heat_convergence.clients.keystone import CredentialIssuer, Requester
from heat_convergence.clients.settings import ClientSettings
from heat_convergence.conf import opts
from tests.functional.clients.fake_keystone import SERVICE_PASSWORD, SERVICE_USER, FakeKeystone

Build = Callable[..., tuple[StackCloudCache, Delegation]]


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

    def __init__(self, fake: FakeKeystone, user_id: str, **more: Any) -> None:
        self._fake = fake
        self._token = fake.token_for(user_id, **more)
        super().__init__(fake.url, token=self._token, reauthenticate=False)

    def get_auth_ref(self, session: Session, **kwargs: Any) -> AccessInfoV3:
        document = self._fake.token_document(self._fake.tokens[self._token])
        return access_of(self._token, document)


def access_of(token: str, document: Mapping[str, Any]) -> AccessInfoV3:
    return AccessInfoV3({"token": document}, auth_token=token)


def create_issuer(service: ServiceAuth, **settings: Any) -> CredentialIssuer:
    return CredentialIssuer(ClientSettings(**settings), service)


class InMemoryCredentialStore:
    """A ``CredentialStore`` in memory; ``stacks`` and ``deleted`` are tree ids."""

    def __init__(self) -> None:
        self.rows: dict[str, tuple[Credential, datetime]] = {}
        self.stacks: set[str] = set()
        self.deleted: set[str] = set()

    def get(self, tree_id: str) -> Credential | None:
        return self.rows[tree_id][0] if tree_id in self.rows else None

    def put(self, tree_id: str, credential: Credential, now: datetime) -> None:
        self.rows[tree_id] = (credential, now)

    def delete(self, tree_id: str) -> None:
        del self.rows[tree_id]

    def list_orphaned(self, before: datetime, limit: int) -> list[tuple[str, Credential]]:
        return [
            (tree_id, credential)
            for tree_id, (credential, at) in self.rows.items()
            if tree_id in self.deleted or (tree_id not in self.stacks and at < before)
        ][:limit]


@pytest.fixture
def store() -> InMemoryCredentialStore:
    return InMemoryCredentialStore()


@pytest.fixture
def build(service: ServiceAuth, store: InMemoryCredentialStore) -> Build:
    def create(**settings: Any) -> tuple[StackCloudCache, Delegation]:
        clouds = StackCloudCache(ClientSettings(**settings), service, store.get)
        return clouds, Delegation(create_issuer(service, **settings), clouds, store)

    return create


def acting_token(
    clouds: StackCloudCache, fake: FakeKeystone, tree_id: str = "s"
) -> dict[str, Any]:
    """Return the token data with which a stack's session acts."""
    token = clouds.get(tree_id).session.get_token()
    return fake.tokens[token or ""]
