"""The console with a login at a real Keystone: from a dropped template to the stack's deletion."""

from __future__ import annotations

import re
import uuid
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.cloud.conftest import DeployService
from tests.cloud.testbed import CloudTestbed, DeployedService, UserIdentityClient
from tests.console.browser import (
    RecordedPage,
    drop_files,
    launched_chromium,
    recorded_page,
    take_screenshot,
)

USER = "demo"  # and the project of that name
CONVERGED_MS = 120_000
TEMPLATE = """
heat_template_version: 2018-08-31
parameters:
  address: {type: string, default: 10.9.8.0/24}
resources:
  net: {type: OS::Neutron::Net}
  subnet:
    type: OS::Neutron::Subnet
    properties: {network: {get_resource: net}, cidr: {get_param: address}}
  port:
    type: OS::Neutron::Port
    properties: {network: {get_resource: net}, fixed_ips: [{subnet: {get_resource: subnet}}]}
outputs:
  ip: {value: {get_attr: [port, fixed_ips, 0, ip_address]}}
"""


@pytest.fixture(scope="module")
def deployed_service(deploy: DeployService) -> DeployedService:
    return deploy(sections={"console": {"enabled": True}})


@pytest.fixture(scope="module")
def service_of_credentials(deploy: DeployService) -> DeployedService:
    """Return a service that acts for users by application credentials.

    Keystone lets nobody create a trust who has logged in by an application credential.
    """
    section = {"console": {"enabled": True}}
    return deploy(sections=section, deferred_auth_method="application_credential")


@pytest.fixture(scope="module")
def chromium() -> Iterator[Browser]:
    with launched_chromium() as browser:
        yield browser


@pytest.fixture
def recorded(chromium: Browser) -> Iterator[RecordedPage]:
    with recorded_page(chromium) as page:
        yield page


@pytest.fixture(scope="module")
def user(cloud_testbed: CloudTestbed) -> UserIdentityClient:
    return cloud_testbed.identity_client(USER)


def submit(page: Page, **values: str) -> None:
    """Fill in the fields of the login by their names, and send it."""
    dialog = page.get_by_role("dialog")
    for name, value in values.items():
        dialog.locator(f"input[name={name}]").fill(value)
    dialog.get_by_role("button", name="Log in").click()


@pytest.fixture
def application_credential(user: UserIdentityClient) -> Iterator[dict[str, str]]:
    """Yield what the login asks of a credential that may create further ones."""
    path = f"/users/{user.user_id}/application_credentials"
    body = {"name": f"console-{uuid.uuid4().hex}", "unrestricted": True}
    created = user.post(path, {"application_credential": body})["application_credential"]
    yield {
        "application_credential_id": created["id"],
        "application_credential_secret": created["secret"],
    }
    user.delete(f"{path}/{created['id']}")


def log_in(recorded: RecordedPage, service: DeployedService, method: str, **values: str) -> Page:
    page = recorded.open(f"{service.endpoint}/console")
    page.get_by_role("dialog").get_by_label("Log in with").select_option(method)
    submit(page, **values)
    expect(page.get_by_text(f"{USER} in {USER}")).to_be_visible()
    return page


def start_stack(page: Page) -> str:
    """Send a dropped template, and return the name of its stack."""
    name = f"console-{uuid.uuid4().hex[:8]}"
    page.get_by_role("link", name="Create a stack").click()
    drop_files(page, ".goal", {"network.yaml": TEMPLATE})
    page.get_by_label("Name of the stack").fill(name)
    page.get_by_role("button", name="Create the stack").click()
    return name


def create_and_delete(page: Page) -> None:
    name = start_stack(page)
    expect(page.get_by_role("heading", level=1, name=name)).to_be_visible()
    state = page.locator(".state")
    expect(state).to_contain_text("CREATE_COMPLETE", timeout=CONVERGED_MS)
    page.get_by_role("link", name="Resources", exact=True).click()
    expect(page.get_by_role("row", name="OS::Neutron::Port")).to_contain_text("CREATE_COMPLETE")
    page.get_by_role("link", name="Outputs", exact=True).click()
    expect(page.locator("main")).to_contain_text(re.compile(r"10\.9\.8\.\d+"))
    take_screenshot(page, "cloud-outputs")
    page.get_by_role("button", name="Delete", exact=True).click()
    page.get_by_role("dialog").get_by_role("button", name="Delete the stack").click()
    deleted = re.compile("DELETE_COMPLETE|was deleted|There is no such stack")
    expect(page.locator("main")).to_contain_text(deleted, timeout=CONVERGED_MS)
    page.get_by_role("link", name="Stacks", exact=True).click()
    expect(page.get_by_text(re.compile(r"^\d+ of \d+ stacks$"))).to_be_visible()
    expect(page.get_by_role("link", name=name)).to_have_count(0)


@pytest.mark.parametrize("method", ["password", "token"])
def test_stack_from_a_login_and_a_dropped_template_to_its_deletion(
    recorded: RecordedPage,
    deployed_service: DeployedService,
    user: UserIdentityClient,
    cloud_testbed: CloudTestbed,
    method: str,
) -> None:
    values = {"token": str(user.session.get_token())}
    if method == "password":
        values = {"username": USER, "password": cloud_testbed.facts["password"]}
    page = log_in(recorded, deployed_service, method, project_name=USER, **values)
    create_and_delete(page)
    assert not recorded.was_reloaded
    assert recorded.hosts == {deployed_service.endpoint.split("/")[2]}


def test_application_credential_creates_stacks_where_the_service_uses_such(
    recorded: RecordedPage,
    service_of_credentials: DeployedService,
    application_credential: dict[str, str],
) -> None:
    method = "application_credential"
    create_and_delete(log_in(recorded, service_of_credentials, method, **application_credential))


def test_application_credential_creates_no_stack_where_the_service_uses_trusts(
    recorded: RecordedPage,
    deployed_service: DeployedService,
    application_credential: dict[str, str],
) -> None:
    method = "application_credential"
    page = log_in(recorded, deployed_service, method, **application_credential)
    name = start_stack(page)
    expect(page.get_by_role("alert")).to_contain_text("Keystone did not let the service act")
    expect(page.get_by_label("Name of the stack")).to_have_value(name)


def test_wrong_password_and_another_users_stack_are_refused(
    recorded: RecordedPage, deployed_service: DeployedService, cloud_testbed: CloudTestbed
) -> None:
    page = recorded.open(f"{deployed_service.endpoint}/console")
    submit(page, username=USER, password="wrong", project_name=USER)
    expect(page.get_by_role("alert")).not_to_be_empty()
    password = cloud_testbed.facts["password"]
    submit(page, username=USER, password=password, project_name=USER)
    expect(page.get_by_text(f"{USER} in {USER}")).to_be_visible()
    page.get_by_role("link", name="Overview").click()
    expect(page.locator("main")).to_contain_text("Administrators of the cloud alone")
    theirs = f"#/{cloud_testbed.project_id('alt_demo')}/stacks"
    page.goto(f"{deployed_service.endpoint}/console/{theirs}")
    expect(page.get_by_role("heading", name="Another project")).to_be_visible()
