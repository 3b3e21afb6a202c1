"""Five tasks of a new user, each in three clicks at most from the list of stacks."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

from tests.console.browser import RecordedPage
from tests.console.conftest import EmulatedConsole
from tests.functional.drift.drift_cases import ours, watch
from tests.functional.openstack_types.emulated_service import (
    create_stack,
    physical_id,
    port,
    template,
)

MOST_CLICKS = 3
# Counts what the user does: scripts make no trusted events. A click on an element that the page
# replaces while the button is down hits nothing, and the browser's driver repeats it.
COUNT_CLICKS = """window.clicks = 0;
addEventListener("click", (event) => {
  if (event.isTrusted && event.target.closest("a, button")) window.clicks += 1;
}, true);"""
HELD = {"resource_registry": {"resources": {"port": {"hooks": "pre-create"}}}}
BROKEN = {"type": "OS::Heat::TestResource", "properties": {"fail": True}}


def click(page: Page, role: str, name: str) -> None:
    page.get_by_role(role, name=name, exact=True).last.click()  # type: ignore[arg-type]


def find_cause_of_failure(page: Page) -> None:
    click(page, "link", "failed")
    expect(page.get_by_role("note")).to_contain_text("First failure: broken")


def plan_update(page: Page) -> None:
    click(page, "link", "drifted")
    click(page, "link", "Update")
    expect(page.get_by_label("Template")).not_to_be_empty()
    click(page, "button", "Make a plan")
    expect(page.get_by_role("heading", name="Plan: patch drifted")).to_be_visible()


def find_slowest_resource(page: Page) -> None:
    click(page, "link", "drifted")
    click(page, "link", "Timeline")
    expect(page.get_by_role("status").filter(has_text="the longest is")).to_be_visible()


def repair_drift(page: Page) -> None:
    click(page, "link", "drifted")
    click(page, "button", "Repair")
    click(page, "button", "Repair")
    expect(page.get_by_text("the service has begun")).to_be_visible()


def clear_breakpoint(page: Page) -> None:
    click(page, "link", "held")
    click(page, "link", "port")
    click(page, "button", "Clear the breakpoint pre-create")
    expect(page.locator(".state").get_by_text("CREATE_COMPLETE")).to_be_visible()


@pytest.mark.parametrize(
    "task",
    [find_cause_of_failure, plan_update, find_slowest_resource, repair_drift, clear_breakpoint],
)
def test_task_takes_three_clicks_at_most(
    recorded: RecordedPage, emulated: EmulatedConsole, task: Callable[[Page], None]
) -> None:
    service = emulated.service
    path = create_stack(service, template(port=port(name="front")), stack_name="drifted")
    watch(service)
    ours(emulated.cloud, "neutron.port", physical_id(service, path, "port"))["name"] = "other"
    watch(service)
    failing = {"heat_template_version": "2016-10-14", "resources": {"broken": BROKEN}}
    service.send("POST", "/stacks", {"stack_name": "failed", "template": failing})
    body = {"stack_name": "held", "template": template(port=port()), "environment": HELD}
    service.send("POST", "/stacks", body)
    recorded.page.add_init_script(COUNT_CLICKS)
    page = recorded.open(f"{emulated.url}/#/p/stacks")
    task(page)
    assert 1 <= page.evaluate("window.clicks") <= MOST_CLICKS
    assert not recorded.was_reloaded
