"""The console over the emulated cloud: plans, drift and repair."""

from __future__ import annotations

import json

from playwright.sync_api import expect

from tests.console.browser import RecordedPage, take_screenshot
from tests.console.conftest import EmulatedConsole
from tests.functional.drift.drift_cases import ours, watch
from tests.functional.openstack_types.emulated_service import (
    create_stack,
    physical_id,
    port,
    server,
    template,
)


def test_drift_is_shown_beside_what_is_desired_and_repaired(
    recorded: RecordedPage, emulated: EmulatedConsole
) -> None:
    service = emulated.service
    path = create_stack(service, template(port=port(name="front")))
    watch(service)
    found = ours(emulated.cloud, "neutron.port", physical_id(service, path, "port"))
    found["name"] = "<b>other</b>"
    watch(service)
    page = recorded.open(f"{emulated.url}/#/p{path}/drift")
    row = page.locator(".drift").get_by_role("row", name="name")
    expect(row).to_contain_text("front")
    expect(row).to_contain_text("<b>other</b>")
    take_screenshot(page, "drift-of-a-port")
    page.get_by_role("button", name="Repair", exact=True).click()
    page.get_by_role("dialog").get_by_role("button", name="Repair").click()
    expect(page.get_by_text("the service has begun")).to_be_visible()
    assert found["name"] == "front"
    page.get_by_role("link", name="Drift", exact=True).first.click()
    expect(page.get_by_text("Nothing has drifted.")).to_be_visible()


def test_plan_is_made_looked_at_and_executed(
    recorded: RecordedPage, emulated: EmulatedConsole
) -> None:
    service = emulated.service
    path = create_stack(service, template(port=port(), server=server(name="web")))
    replaced = server(name="web", image="cirros-2")
    changed = template(port=port(), server=replaced, net2={"type": "OS::Neutron::Net"})
    page = recorded.open(f"{emulated.url}/#/p{path}/update")
    expect(page.get_by_label("Template")).not_to_be_empty()
    page.get_by_label("Template").fill(json.dumps(changed))
    page.get_by_role("button", name="Make a plan").click()
    expect(page.get_by_role("heading", name="net2")).to_be_visible()
    expect(page.get_by_role("heading", name="server")).to_be_visible()
    take_screenshot(page, "plan")
    page.get_by_role("button", name="Execute the plan").click()
    page.get_by_role("dialog").get_by_role("button", name="Execute the plan").click()
    expect(page.locator(".state").get_by_text("UPDATE_COMPLETE")).to_be_visible()
    page.get_by_role("link", name="Plans", exact=True).click()
    expect(page.get_by_role("cell", name="EXECUTED", exact=True)).to_be_visible()
