"""Actions on a stack from its page: suspend, resume, check, cancel."""

from __future__ import annotations

from playwright.sync_api import Page, expect

from tests.console.browser import RecordedPage
from tests.console.conftest import EmulatedConsole
from tests.functional.openstack_types.emulated_service import create_stack, port, template

HELD = {"resource_registry": {"resources": {"port": {"hooks": "pre-update"}}}}


def act(page: Page, name: str, state: str) -> None:
    """Press a button, confirm it, and wait for the stack's state."""
    page.get_by_role("button", name=name, exact=True).click()
    page.get_by_role("dialog").get_by_role("button", name=name, exact=True).click()
    expect(page.locator(".state")).to_contain_text(state)


def test_stack_is_suspended_resumed_checked_and_its_update_cancelled(
    recorded: RecordedPage, emulated: EmulatedConsole
) -> None:
    service = emulated.service
    path = create_stack(service, template(port=port(name="old")))
    page = recorded.open(f"{emulated.url}/#/p{path}")
    act(page, "Suspend", "SUSPEND_COMPLETE")
    act(page, "Resume", "RESUME_COMPLETE")
    act(page, "Check", "CHECK_COMPLETE")
    changed = {"template": template(port=port(name="new")), "environment": HELD}
    assert service.send("PUT", path, changed).status_int == 202
    expect(page.locator(".state")).to_contain_text("UPDATE_IN_PROGRESS")
    act(page, "Cancel the update", "ROLLBACK_COMPLETE")
    assert not recorded.was_reloaded
