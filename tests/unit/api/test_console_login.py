"""The login of the console, with a Keystone that is a function."""

from __future__ import annotations

from typing import Any

import pytest
from webob import Request, Response

from heat_convergence.api.console.console import Console
from heat_convergence.api.console.login import FailedLogins, LoginEndpoint
from heat_convergence.api.requests.login import parse_login
from heat_convergence.clients.login.user_login import GrantedToken, LoginRefused, LoginRequest
from heat_convergence.common import errors

GRANTED = GrantedToken("t0ken", "2026-11-23T10:00:00Z", "id", "shop", "anna", ("member",))
BODY = {"method": "password", "username": "anna", "password": "right", "project_name": "shop"}


class RecordingKeystone:
    def __init__(self) -> None:
        self.requests: list[LoginRequest] = []

    def log_in(self, login: LoginRequest) -> GrantedToken:
        self.requests.append(login)
        if login.values.get("password") != "right":
            raise LoginRefused("Keystone does not accept these credentials.")
        return GRANTED


class Timer:
    def __init__(self) -> None:
        self.now_s = 0.0

    def __call__(self) -> float:
        return self.now_s


@pytest.fixture
def keystone() -> RecordingKeystone:
    return RecordingKeystone()


@pytest.fixture
def timer() -> Timer:
    return Timer()


@pytest.fixture
def console(keystone: RecordingKeystone, timer: Timer) -> Console:
    return Console(Response("the API"), LoginEndpoint(keystone.log_in, FailedLogins(timer)))


def log_in(console: Console, body: Any = None, **headers: str) -> Response:
    request = Request.blank("/console/tokens", method="POST", headers=headers)
    request.json = BODY if body is None else body
    request.content_type = "application/json"
    request.environ.setdefault("REMOTE_ADDR", "192.0.2.1")
    return request.get_response(console)


def test_token_is_returned_and_never_cached(console: Console, keystone: RecordingKeystone) -> None:
    response = log_in(console)
    assert response.json["token"] == "t0ken"
    assert response.json["project_id"] == "id"
    assert response.headers["Cache-Control"] == "no-store"
    (sent,) = keystone.requests
    assert sent.values["project_domain_name"] == sent.values["user_domain_name"] == "Default"


def test_settings_name_keystone_and_no_project(console: Console) -> None:
    settings = Request.blank("/console/settings.json").get_response(console).json
    assert settings == {"auth": "keystone", "project_id": None}


def test_wrong_password_is_refused_without_the_password(console: Console) -> None:
    response = log_in(console, {**BODY, "password": "wr0ng"})
    assert response.status_int == 401
    assert "wr0ng" not in response.text


def test_ten_failures_in_a_minute_block_an_address(
    console: Console, keystone: RecordingKeystone, timer: Timer
) -> None:
    wrong = {**BODY, "password": "wrong"}
    assert [log_in(console, wrong).status_int for _ in range(10)] == [401] * 10
    blocked = log_in(console)
    assert (blocked.status_int, blocked.headers["Retry-After"]) == (429, "30")
    assert len(keystone.requests) == 10
    timer.now_s = 61
    assert log_in(console).status_int == 200


def test_failures_are_counted_by_address(timer: Timer) -> None:
    failed = FailedLogins(timer)
    for _ in range(10):
        failed.add("192.0.2.1")
    assert failed.is_blocked("192.0.2.1")
    assert not failed.is_blocked("192.0.2.2")


def test_page_of_another_site_cannot_log_in(console: Console) -> None:
    with pytest.raises(errors.HTTPForbidden):
        log_in(console, **{"Sec-Fetch-Site": "cross-site"})
    form = Request.blank("/console/tokens", method="POST", body=b"{}", content_type="text/plain")
    with pytest.raises(errors.HTTPBadRequest):
        form.get_response(console)


def test_tokens_are_not_read(console: Console) -> None:
    assert Request.blank("/console/tokens").get_response(console).status_int == 405


@pytest.mark.parametrize(
    ("body", "named"),
    [
        ({}, "method"),
        ({"method": "saml"}, "method"),
        ({"method": ["password"]}, "method"),
        ({"method": "password", "username": "anna"}, '"password"'),
        ({"method": "password", "username": "", "password": "x"}, '"username"'),
        ({**BODY, "auth_url": "http://elsewhere"}, "auth_url"),
        ({**BODY, "password": {"a": 1}}, '"password"'),
        ({**BODY, "username": "x" * 5000}, '"username"'),
        ({"method": "application_credential"}, "application_credential_secret"),
    ],
)
def test_bad_bodies_are_refused_by_name(body: dict[str, Any], named: str) -> None:
    with pytest.raises(errors.HTTPBadRequest, match=named):
        parse_login(body)


@pytest.mark.parametrize("text", [b"", b"[]", b"{", b"\xff", b'"x"', b"[" * 10_000])
def test_bodies_that_are_no_json_object_are_refused(console: Console, text: bytes) -> None:
    request = Request.blank("/console/tokens", method="POST", body=text)
    request.content_type = "application/json"
    with pytest.raises(errors.HTTPBadRequest):
        request.get_response(console)


def test_large_body_is_not_read(console: Console) -> None:
    with pytest.raises(errors.HTTPBadRequest, match="bytes"):
        log_in(console, {**BODY, "password": "x" * 20_000})
