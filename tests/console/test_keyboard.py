"""The console without a mouse: every step by keys alone, with a focus that can be seen."""

from __future__ import annotations

from typing import Any

from playwright.sync_api import Page, expect

from tests.console.browser import RecordedPage
from tests.console.conftest import EmulatedConsole
from tests.functional.openstack_types.emulated_service import create_stack

MOST_STEPS = 80
GROUP = {
    "heat_template_version": "2018-08-31",
    "resources": {
        "group": {
            "type": "OS::Heat::ResourceGroup",
            "properties": {"count": 2, "resource_def": {"type": "OS::Heat::RandomString"}},
        }
    },
}
# The name and the outline of the element that has the focus.
FOCUSED = """() => {
    const element = document.activeElement;
    if (element === document.body) return null;
    const style = getComputedStyle(element);
    const name = element.getAttribute("aria-label") || element.textContent.trim();
    return {name, width: style.outlineStyle === "none" ? 0 : parseFloat(style.outlineWidth)};
}"""


def tab_to(page: Page, name: str) -> None:
    """Press the tab key until an element has the focus; each on the way shows that it has it."""
    for _ in range(MOST_STEPS):
        page.keyboard.press("Tab")
        focused: dict[str, Any] | None = page.evaluate(FOCUSED)
        if focused is None:
            continue  # between the last and the first element it is the browser's
        assert focused["width"] >= 1, f"{focused['name']} does not show the focus"
        if focused["name"] == name:
            return
    raise AssertionError(f"no tab stop is called {name}")


def test_stack_is_opened_looked_at_and_deleted_by_keys(
    recorded: RecordedPage, emulated: EmulatedConsole
) -> None:
    create_stack(emulated.service, GROUP, stack_name="shop")
    page = recorded.open(f"{emulated.url}/#/p/stacks")
    expect(page.get_by_role("link", name="shop")).to_be_visible()
    tab_to(page, "Skip to the content")
    tab_to(page, "shop")
    page.keyboard.press("Enter")
    graph = page.locator("section.split")
    expect(graph).to_have_attribute("data-nodes", "1")

    page.locator("canvas").wait_for()
    tab_to(page, str(page.locator("canvas").get_attribute("aria-label")))
    page.keyboard.press("n")
    expect(page.locator(".details")).to_contain_text("OS::Heat::ResourceGroup")
    page.keyboard.press("Enter")
    expect(graph).to_have_attribute("data-nodes", "3")

    page.reload()
    expect(graph).to_have_attribute("data-nodes", "1")
    tab_to(page, "Delete")
    page.keyboard.press("Enter")
    dialog = page.get_by_role("dialog")
    expect(dialog).to_be_visible()
    page.keyboard.press("Escape")
    expect(dialog).to_have_count(0)
    assert page.evaluate(FOCUSED)["name"] == "Delete", "the focus is lost"
    page.keyboard.press("Enter")
    tab_to(page, "Delete the stack")
    page.keyboard.press("Enter")
    expect(page.locator(".state")).to_contain_text("DELETE_COMPLETE")
