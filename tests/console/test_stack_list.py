"""The list of stacks: changes without a reload or repeated reads, and 10,000 stacks."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import parse_qs, urlsplit

from playwright.sync_api import Page, Request, expect

from heat_convergence.convergence.model.action import Action, Status
from heat_convergence.db.tables import stack as stack_table
from tests.console.browser import RecordedPage, take_screenshot
from tests.console.conftest import EmulatedConsole
from tests.functional.harness import LocalService
from tests.functional.openstack_types.emulated_service import create_stack

COUNT, BATCH, PAGE = 10_000, 1_000, 50
START = datetime(2025, 1, 1, tzinfo=UTC)
IDLE_MS = 8_000
FIRST_PICTURE_S, COMPLETE_S, MEMORY_BYTES, MAX_NODES = 2.0, 20.0, 100 * 2**20, 1_500
PLAIN = {
    "heat_template_version": "2018-08-31",
    "resources": {"plain": {"type": "OS::Heat::RandomString"}},
}
FAILING = {
    "heat_template_version": "2018-08-31",
    "resources": {"broken": {"type": "OS::Heat::TestResource", "properties": {"fail": True}}},
}
# Keeps the time of the first row, in milliseconds since the page was opened.
WATCH_FOR_ROWS = """new MutationObserver((_, observer) => {
    if (!document.querySelector("tbody tr")) return;
    window.firstPictureMs = performance.now();
    observer.disconnect();
}).observe(document, {childList: true, subtree: true});"""


def record_queries(page: Page) -> list[dict[str, list[str]]]:
    """Return a list that has the query of each request for a list of stacks."""
    queries: list[dict[str, list[str]]] = []

    def record(request: Request) -> None:
        url = urlsplit(request.url)
        if url.path.endswith("/stacks") and request.method == "GET":
            queries.append(parse_qs(url.query))

    page.on("request", record)
    return queries


def test_states_change_without_repeated_reads(
    recorded: RecordedPage, emulated: EmulatedConsole
) -> None:
    service = emulated.service
    first = create_stack(service, PLAIN, stack_name="first")
    queries = record_queries(recorded.page)
    page = recorded.open(f"{emulated.url}/#/p/stacks")
    expect(page.get_by_text("1 of 1 stacks")).to_be_visible()
    page.wait_for_timeout(IDLE_MS)
    # A marker, the list, and one request that waits.
    assert [sorted(each) for each in queries] == [
        ["changed_since", "limit"],
        ["limit"],
        ["changed_since", "limit", "wait"],
    ]
    body = {"stack_name": "second", "template": PLAIN}
    second = service.send("POST", "/stacks", body, leave_pending=True).json["stack"]["id"]
    row = page.get_by_role("row", name="second")
    expect(row).to_contain_text("CREATE_IN_PROGRESS")
    service.clock.advance(3600)  # so that its end is no recent beginning
    service.run_until_idle()
    expect(row).to_contain_text("CREATE_COMPLETE")
    service.send("PUT", first, {"template": FAILING})
    expect(page.get_by_role("row", name="first")).to_contain_text("UPDATE_FAILED")
    page.get_by_label("State").select_option("failed")
    expect(page.get_by_text("1 of 2 stacks")).to_be_visible()
    service.send("PUT", f"/stacks/second/{second}", {"template": FAILING})
    expect(row).to_contain_text("UPDATE_FAILED")  # which the filter did not show before
    service.send("DELETE", first)
    expect(page.get_by_text("1 of 1 stacks")).to_be_visible()
    assert not recorded.was_reloaded
    assert [each for each in queries[3:] if "changed_since" not in each and "id" not in each] == []


def stack_row(number: int, started_at: datetime) -> dict[str, Any]:
    """Return the row of a stack that has ended; every hundredth has failed."""
    return {
        "id": f"00000000-0000-7000-8000-{number:012}",
        "name": f"stack-{number:05}",
        "live_name": f"stack-{number:05}",
        "project_id": "p",
        "version": 1,
        "action": Action.CREATE,
        "status": Status.COMPLETE if number % 100 else Status.FAILED,
        "status_reason": "",
        "goal_id": "none",
        "disable_rollback": True,
        "created_at": started_at,
        "started_at": started_at,
        "depth": 0,
    }


def insert_stacks(service: LocalService, rows: list[dict[str, Any]]) -> None:
    with service.database.write() as connection:
        connection.execute(stack_table.insert(), rows)


def test_ten_thousand_stacks_are_searched_and_turned_over(
    recorded: RecordedPage, emulated: EmulatedConsole
) -> None:
    service = emulated.service
    old = [stack_row(number, START + timedelta(seconds=number)) for number in range(COUNT)]
    insert_stacks(service, old)
    queries = record_queries(recorded.page)
    recorded.page.add_init_script(WATCH_FOR_ROWS)
    page = recorded.open(f"{emulated.url}/#/p/stacks")
    expect(page.get_by_text("10000 of 10000 stacks")).to_be_visible()
    complete_s = page.evaluate("performance.now()") / 1e3
    first_picture_s = page.evaluate("window.firstPictureMs") / 1e3
    nodes = page.evaluate("document.querySelectorAll('*').length")
    memory = page.evaluate("performance.memory.usedJSHeapSize")
    print(
        f"first picture {first_picture_s:.2f} s, complete {complete_s:.2f} s, {nodes} elements,"
        f" {memory / 2**20:.0f} MiB"
    )
    pages = [each for each in queries if "changed_since" not in each]
    assert [each["limit"] for each in pages] == [[str(BATCH)]] * (COUNT // BATCH + 1)
    expect(page.locator("tbody tr")).to_have_count(PAGE)
    assert nodes < MAX_NODES
    assert first_picture_s < FIRST_PICTURE_S
    assert complete_s < COMPLETE_S
    assert memory < MEMORY_BYTES
    _search_and_turn(page)
    insert_stacks(service, [stack_row(COUNT, service.clock())])
    expect(page.get_by_text("101 of 10001 stacks")).to_be_visible()
    assert [each for each in queries[len(pages) + 2 :] if "changed_since" not in each] == []


def _search_and_turn(page: Page) -> None:
    page.get_by_role("button", name="Next").click()
    expect(page.get_by_text("Page 2 of 200")).to_be_visible()
    page.get_by_label("Search").fill("stack-0123")
    expect(page.get_by_text("10 of 10000 stacks")).to_be_visible()
    page.get_by_label("Search").fill("")
    page.get_by_label("State").select_option("failed")
    expect(page.get_by_text("100 of 10000 stacks")).to_be_visible()
    expect(page.locator("tbody tr")).to_have_count(PAGE)
    take_screenshot(page, "stacks")
