"""The console with a login, expired tokens and an API that is away; the network is a stand-in."""

from __future__ import annotations

import json

import pytest
from playwright.sync_api import Page, Route, expect

from tests.console.browser import RecordedPage, take_screenshot
from tests.console.conftest import EmulatedConsole

TOKEN = {
    "token": "t0ken",
    "expires_at": "2126-01-01T00:00:00Z",
    "project_id": "p",
    "project_name": "shop",
    "user_name": "anna",
    "roles": ["member"],
}


SECRETS = {
    "password": "right",
    "token": "of-the-command-line",
    "application_credential_secret": "of-the-credential",
}


class ProtectedService:
    """A Keystone between the page and the service: accepts one secret of each kind of login.

    Attributes:
        is_expired: Whether the token is refused.
        tokens: The tokens that requests had.
        logins: What the page has sent to log in.
    """

    def __init__(self, page: Page) -> None:
        self.is_expired = False
        self.tokens: set[str | None] = set()
        self.logins: list[dict[str, str]] = []
        page.route("**/console/settings.json", self._settings)
        page.route("**/console/tokens", self._log_in)
        page.route("**/v1/**", self._call)

    def _settings(self, route: Route) -> None:
        route.fulfill(json={"auth": "keystone", "project_id": None})

    def _log_in(self, route: Route) -> None:
        body = json.loads(route.request.post_data or "{}")
        self.logins.append(body)
        if any(body.get(name) == secret for name, secret in SECRETS.items()):
            self.is_expired = False
            route.fulfill(json=TOKEN)
        else:
            route.fulfill(status=401, json={"error": {"message": "Keystone does not accept it."}})

    def _call(self, route: Route) -> None:
        token = route.request.headers.get("x-auth-token")
        self.tokens.add(token)
        if token != "t0ken" or self.is_expired:
            route.fulfill(status=401, body="Authentication required")
        else:
            route.continue_()


def log_in(page: Page, password: str) -> None:
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("User", exact=True).fill("anna")
    dialog.get_by_label("Password", exact=True).fill(password)
    dialog.get_by_role("button", name="Log in").click()


def test_expired_token_is_requested_again_and_nothing_is_lost(
    recorded: RecordedPage, emulated: EmulatedConsole
) -> None:
    service = ProtectedService(recorded.page)
    page = recorded.open(f"{emulated.url}/#/p/create")
    log_in(page, "wrong")
    expect(page.get_by_role("dialog")).to_contain_text("Keystone does not accept it.")
    take_screenshot(page, "login")
    log_in(page, "right")
    expect(page.get_by_text("anna in shop")).to_be_visible()
    service.is_expired = True
    page.get_by_label("Name of the stack").fill("kept")
    page.get_by_label("Template").fill("heat_template_version: 2018-08-31")
    log_in(page, "right")  # the check of the template has met the expired token
    page.get_by_role("button", name="Create the stack").click()
    expect(page.get_by_role("heading", level=1, name="kept")).to_be_visible()
    assert service.tokens == {"t0ken"}
    stored = page.evaluate("[localStorage.length, sessionStorage.length, document.cookie]")
    assert stored == [0, 0, ""]


@pytest.mark.parametrize(
    ("method", "values", "sent"),
    [
        (
            "password",
            {"username": "anna", "password": "right", "project_name": "shop"},
            {"user_domain_name": "Default", "project_domain_name": "Default"},
        ),
        ("token", {"token": "of-the-command-line"}, {}),
        (
            "application_credential",
            {
                "application_credential_id": "1d",
                "application_credential_secret": "of-the-credential",
            },
            {},
        ),
    ],
)
def test_users_log_in_by_three_methods_and_out_again(
    recorded: RecordedPage,
    emulated: EmulatedConsole,
    method: str,
    values: dict[str, str],
    sent: dict[str, str],
) -> None:
    service = ProtectedService(recorded.page)
    page = recorded.open(emulated.url)
    dialog = page.get_by_role("dialog")
    page.keyboard.press("Escape")  # without a login there is nothing to show
    dialog.get_by_label("Log in with").select_option(method)
    for name, value in values.items():
        dialog.locator(f"input[name={name}]").fill(value)
    page.keyboard.press("Enter")
    expect(page.get_by_text("0 of 0 stacks")).to_be_visible()
    assert service.logins == [{"method": method, **values, **sent}]
    for secret in (*SECRETS.values(), "t0ken"):
        assert secret not in page.content()
        assert secret not in page.url
    page.get_by_role("button", name="Log out").click()
    expect(dialog.get_by_label("Log in with")).to_be_visible()
    assert service.tokens == {"t0ken"}


def test_address_of_another_project_is_not_opened_silently(
    recorded: RecordedPage, emulated: EmulatedConsole
) -> None:
    ProtectedService(recorded.page)
    page = recorded.open(f"{emulated.url}/#/other/stacks")
    log_in(page, "right")
    expect(page.get_by_role("heading", name="Another project")).to_be_visible()


def test_outage_is_shown_and_ends_by_itself(
    recorded: RecordedPage, emulated: EmulatedConsole
) -> None:
    outage = "The service does not answer"
    page = recorded.open(emulated.url)
    expect(page.get_by_text("0 of 0 stacks")).to_be_visible()
    page.context.set_offline(True)  # while the page waits for changes
    expect(page.get_by_text(outage)).to_be_visible()
    page.context.set_offline(False)
    expect(page.get_by_text(outage)).to_be_hidden()
    page.get_by_role("link", name="Quarantine").click()
    expect(page.get_by_text("Nothing is in quarantine")).to_be_visible()
    page.route("**/v1/**", lambda route: route.abort())
    expect(page.get_by_text(outage)).to_be_visible()
    page.unroute("**/v1/**")
    expect(page.get_by_text(outage)).to_be_hidden()
