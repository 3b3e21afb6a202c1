"""Logins of the console's users at a fake Keystone."""

from __future__ import annotations

import pytest

from heat_convergence.clients.auth import ServiceAuth
from heat_convergence.clients.login.user_login import LoginRefused, LoginRequest, UserLogin
from heat_convergence.clients.settings import ClientSettings
from heat_convergence.common.failures import Unavailable
from tests.functional.clients.fake_keystone import FakeKeystone

PASSWORD = {
    "username": "demo",
    "password": "demo-password",
    "user_domain_name": "Default",
    "project_name": "shop",
    "project_domain_name": "Default",
}


@pytest.fixture
def login(service: ServiceAuth) -> UserLogin:
    return UserLogin(ClientSettings(connect_retries=0), service)


def test_password_gets_a_token_for_the_project(fake: FakeKeystone, login: UserLogin) -> None:
    granted = login.log_in(LoginRequest("password", PASSWORD))
    assert fake.tokens[granted.token]["user_id"] == "demo-id"
    assert granted.project_id == "shop"
    assert granted.expires_at.startswith("2126-01-01T00:00:00")
    assert granted.roles == ("member",)


def test_application_credential_gets_a_token(fake: FakeKeystone, login: UserLogin) -> None:
    fake.application_credentials["key"] = {
        "secret": "s3cret",
        "user_id": "demo-id",
        "project_id": "p",
    }
    values = {"application_credential_id": "key", "application_credential_secret": "s3cret"}
    assert login.log_in(LoginRequest("application_credential", values)).project_id == "p"


def test_wrong_password_is_refused(login: UserLogin) -> None:
    with pytest.raises(LoginRefused, match="does not accept"):
        login.log_in(LoginRequest("password", {**PASSWORD, "password": "wrong"}))


def test_absent_keystone_is_unavailable(fake: FakeKeystone, service: ServiceAuth) -> None:
    settings = ClientSettings(auth_uri="http://127.0.0.1:1", connect_retries=0)
    with pytest.raises(Unavailable):
        UserLogin(settings, service).log_in(LoginRequest("password", PASSWORD))
