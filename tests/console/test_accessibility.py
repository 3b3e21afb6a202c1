"""Every view of the console by the rules of axe-core, in both colour schemes, wide and narrow."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Literal

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Page, Route, expect

from heat_convergence.testing.sample_rows import service_row
from tests.console.browser import TIMEOUT_MS
from tests.console.conftest import EmulatedConsole
from tests.functional.drift.drift_cases import ours, watch
from tests.functional.openstack_types.emulated_service import (
    create_stack,
    physical_id,
    port,
    template,
)

RULES = {
    "runOnly": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"],
}
# Name: colour scheme, width of the window; 320 px are a phone, or 1280 px zoomed to 400 %.
VARIANTS: Mapping[str, tuple[Literal["light", "dark"], int]] = {
    "light": ("light", 1280),
    "dark": ("dark", 1280),
    "light and narrow": ("light", 320),
    "dark and narrow": ("dark", 320),
}
STACK_VIEWS = {
    "graph": "What stands higher",
    "resources": "CREATE_COMPLETE",
    "resources/port": "Attributes",
    "timeline": "the longest is",
    "events": "completed successfully",
    "drift": "observed",
    "outputs": "Parameters",
    "template": "heat_template_version",
    "versions": "There is no difference",
    "update": "Update without a plan",
}
PROJECT_VIEWS = {
    "stacks": "1 of 1 stacks",
    "create": "Create the stack",
    "compare": "Compare templates",
    "plans": "Plans",
    "drift": "observed",
    "quarantine": "Nothing is in quarantine",
    "service": "None is suspected",
    "overview": "1 stacks, 0 in progress",
}
FAILING = {
    "heat_template_version": "2018-08-31",
    "resources": {"broken": {"type": "OS::Heat::TestResource", "properties": {"fail": True}}},
}
OPEN_CIRCUIT = {"service": "compute", "region": "", "project_id": "", "failures": 5, "open_s": 9}


@pytest.fixture(params=VARIANTS)
def page(request: pytest.FixtureRequest, chromium: Browser) -> Iterator[Page]:
    scheme, width = VARIANTS[request.param]
    # The rules are run by a script that the policy of the page would refuse.
    context = chromium.new_context(
        viewport={"width": width, "height": 800}, color_scheme=scheme, bypass_csp=True
    )
    page = context.new_page()
    page.set_default_timeout(TIMEOUT_MS)
    yield page
    context.close()


def violations(page: Page) -> list[str]:
    """Return what axe-core finds, with the first element of each finding."""
    found = Axe().run(page, options=RULES).response["violations"]
    return [f"{each['id']}: {each['help']}: {each['nodes'][0]['html']}" for each in found]


def test_views_break_no_rule_of_accessibility(page: Page, emulated: EmulatedConsole) -> None:
    service = emulated.service
    path = create_stack(service, template(port=port(name="front")))
    watch(service)
    ours(emulated.cloud, "neutron.port", physical_id(service, path, "port"))["name"] = "other"
    watch(service)
    views = {f"{path}/{tab}": text for tab, text in STACK_VIEWS.items()}
    views |= {f"/{view}": text for view, text in PROJECT_VIEWS.items()}
    found = {}
    for view, text in views.items():
        page.goto(f"{emulated.url}/#/p{view}")
        expect(page.locator("main")).to_contain_text(text)
        found[view] = violations(page)
        width = page.evaluate("document.documentElement.scrollWidth - innerWidth")
        assert width <= 0, f"{view} is wider than the window"
    page.goto(f"{emulated.url}/#/p{path}")
    page.get_by_role("button", name="Delete").click()
    found["dialog"] = violations(page)
    assert [f"{view}: {each}" for view, listed in found.items() for each in listed] == []


def test_views_with_mistakes_and_failures_break_no_rule(
    page: Page, emulated: EmulatedConsole
) -> None:
    service, found = emulated.service, {}
    path = create_stack(service, template(port=port(name="front")))
    body = {"stack_name": "failed", "template": FAILING}
    failed = service.send("POST", "/stacks", body).json["stack"]["id"]
    changed = {"action": "patch", "template": template(port=port(name="back"))}
    plan = service.send("POST", f"{path}/plans", changed).json["plan"]["id"]
    worker = service_row(endpoint_states={"open": [OPEN_CIRCUIT], "slow": []})
    service.services.store.workers.record_heartbeat(worker, service.clock())
    views = {
        f"stacks/failed/{failed}": "First failure",
        f"stacks/failed/{failed}/timeline": "broken",
        f"plans/{plan}": "Execute the plan",
        "overview": "not called for",
        "service": worker.hostname,
        "stacks": "2 of 2 stacks",
    }
    for view, text in views.items():
        page.goto(f"{emulated.url}/#/p/{view}")
        expect(page.locator("main")).to_contain_text(text)
        found[view] = violations(page)
    page.goto(f"{emulated.url}/#/p/create")
    page.get_by_label("Template", exact=True).fill(json.dumps(FAILING).replace("fail", "fial"))
    expect(page.get_by_role("list", name="Findings")).to_contain_text("fial")
    found["findings"] = violations(page)
    page.route("**/console/settings.json", ask_for_login)
    page.goto(f"{emulated.url}/?login")
    expect(page.get_by_role("dialog")).to_be_visible()
    found["login"] = violations(page)
    assert [f"{view}: {each}" for view, listed in found.items() for each in listed] == []


def ask_for_login(route: Route) -> None:
    route.fulfill(json={"auth": "keystone", "project_id": None})
