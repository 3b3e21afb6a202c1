"""The view of quarantined resources: a deletion is tried again or dismissed in the console."""

from __future__ import annotations

from playwright.sync_api import expect

from tests.console.browser import RecordedPage
from tests.console.conftest import EmulatedConsole
from tests.functional.conftest import PROJECT
from tests.quarantined_resource import add_quarantined


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
