"""The views of operators: the overview of the service, mass losses, and the quarantine."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from playwright.sync_api import Locator, Page, expect

from heat_convergence.convergence.model.job import JobState
from heat_convergence.db.tables import drift_breaker
from heat_convergence.db.tables import resource as resource_table
from heat_convergence.testing.sample_rows import service_row
from tests.console.browser import RecordedPage, take_screenshot
from tests.console.conftest import EmulatedConsole
from tests.functional.conftest import PROJECT
from tests.functional.harness import LocalService
from tests.functional.openstack_types.emulated_service import create_stack
from tests.quarantined_resource import add_quarantined

PLAIN = {
    "heat_template_version": "2018-08-31",
    "resources": {"plain": {"type": "OS::Heat::RandomString"}},
}
FAILING = {
    "heat_template_version": "2018-08-31",
    "resources": {"broken": {"type": "OS::Heat::TestResource", "properties": {"fail": True}}},
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


def section(page: Page, name: str) -> Locator:
    """Return a table of the overview by its title."""
    return page.get_by_role("region", name=name)


def test_failed_stacks_the_queue_and_work_of_workers_are_shown(
    recorded: RecordedPage, emulated: EmulatedConsole
) -> None:
    service = emulated.service
    body = {"stack_name": "failed", "template": FAILING}
    service.send("POST", "/stacks", body, project="q")
    paths = [create_stack(service, PLAIN, stack_name=name) for name in ("queued", "running")]
    worker = service_row("worker-1")
    service.services.store.workers.record_heartbeat(worker, service.clock())
    change_job(service, paths[0], job_state=JobState.POSTED)
    ends = service.clock() + timedelta(hours=1)
    claimed = {"lease_owner": worker.id, "lease_expires_at": ends}
    change_job(service, paths[1], job_state=JobState.RUNNING, **claimed)
    page = recorded.open(f"{emulated.url}/#/p/overview")
    failed = section(page, "Stacks that have failed").get_by_role("row", name="failed")
    expect(failed).to_contain_text("broken")
    expect(failed).to_contain_text("q")
    queue = section(page, "Queue: ready, not yet claimed")
    expect(queue.get_by_role("link", name="queued")).to_be_visible()
    expect(queue.get_by_role("link", name="running")).to_have_count(0)
    work = section(page, "What workers do").get_by_role("row", name="plain")
    expect(work).to_contain_text("running")
    expect(work).to_contain_text(f"{worker.hostname} {worker.id}")
    work.get_by_role("link", name="plain").click()
    expect(page.get_by_role("heading", level=2, name="plain")).to_be_visible()


def change_job(service: LocalService, path: str, **values: Any) -> None:
    """Change the columns of the only resource of a stack."""
    of_stack = resource_table.c.stack_id == path.split("/")[-1]
    with service.database.write() as connection:
        connection.execute(resource_table.update().where(of_stack).values(values))


def test_mass_loss_is_confirmed(recorded: RecordedPage, emulated: EmulatedConsole) -> None:
    service = emulated.service
    row = {
        "id": "loss",
        "project_id": PROJECT,
        "implementation": "OS::Neutron::Net",
        "region": "",
        "lost": 5,
        "total": 9,
        "confirmed": False,
        "since": service.clock(),
    }
    with service.database.write() as connection:
        connection.execute(drift_breaker.insert().values(row))
    page = recorded.open(f"{emulated.url}/#/{PROJECT}/service")
    shown = page.get_by_role("row", name="OS::Neutron::Net")
    expect(shown).to_contain_text("5 of 9")
    shown.get_by_role("button", name="Confirm").click()
    page.get_by_role("dialog").get_by_role("button", name="They are lost").click()
    expect(shown).to_contain_text("confirmed")
    assert [each["confirmed"] for each in service.send("GET", "/drift/breakers").json["breakers"]]
    assert not recorded.was_reloaded


def test_entry_is_tried_now_and_dismissed(
    recorded: RecordedPage, emulated: EmulatedConsole
) -> None:
    service = emulated.service
    with service.database.write() as connection:
        add_quarantined(connection, service.clock(), "left", project_id=PROJECT)
    page = recorded.open(f"{emulated.url}/#/{PROJECT}/quarantine")
    row = page.get_by_role("row").filter(has=page.get_by_role("rowheader", name="a", exact=True))
    expect(row).to_contain_text("it is in use")
    later = service.send("GET", "/quarantine").json["quarantine"][0]["next_at"]
    row.get_by_role("button", name="Try now").click()
    expect(page.get_by_text("The deletion is tried at once.")).to_be_visible()
    (entry,) = service.send("GET", "/quarantine", leave_pending=True).json["quarantine"]
    assert entry["next_at"] < later
    row.get_by_role("button", name="Dismiss").click()
    page.get_by_role("dialog").get_by_role("button", name="Dismiss it").click()
    expect(page.get_by_text("Nothing is in quarantine")).to_be_visible()
    assert service.send("GET", "/quarantine").json["quarantine"] == []
    assert not recorded.was_reloaded
