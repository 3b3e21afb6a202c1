"""The overview of the whole service: projects, and services that workers do not call."""

from __future__ import annotations

from playwright.sync_api import expect

from heat_convergence.testing.sample_rows import service_row
from tests.console.browser import RecordedPage, take_screenshot
from tests.console.conftest import EmulatedConsole
from tests.functional.openstack_types.emulated_service import create_stack

PLAIN = {
    "heat_template_version": "2018-08-31",
    "resources": {"plain": {"type": "OS::Heat::RandomString"}},
}


def test_open_circuits_and_slow_services_are_shown(
    recorded: RecordedPage, emulated: EmulatedConsole
) -> None:
    service = emulated.service
    create_stack(service, PLAIN)
    place = {"region": "north", "project_id": ""}
    states = {
        "open": [{**place, "service": "compute", "failures": 5, "open_s": 9}],
        "slow": [{**place, "service": "image", "calls": 3, "mean_s": 4.5}],
    }
    worker = service_row(endpoint_states=states)
    service.services.store.workers.record_heartbeat(worker, service.clock())
    page = recorded.open(f"{emulated.url}/#/p/overview")
    shown = page.get_by_role("region", name="Services that are slow or left alone")
    row = shown.get_by_role("row", name="compute")
    expect(row).to_contain_text("not called for 9 s, after 5 failures")
    expect(shown.get_by_role("row", name="image")).to_contain_text("4.5 s a call, mean of 3")
    projects = page.get_by_role("region", name="Projects")
    expect(projects.get_by_role("row", name="p", exact=False).last).to_contain_text("p")
    take_screenshot(page, "overview")
