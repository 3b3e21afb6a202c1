"""Markup of users, templates of 5 MB, links that lead nowhere, and requests of other sites."""

from __future__ import annotations

from playwright.sync_api import Browser, Page, expect

from heat_convergence.db.maintenance import purge
from tests.console.browser import TIMEOUT_MS, RecordedPage, drop_files
from tests.console.conftest import EmulatedConsole
from tests.functional.harness import LocalService
from tests.functional.openstack_types.emulated_service import create_stack

MARKUP = "<img src=x onerror='window.wasExecuted = 1'><script>window.wasExecuted = 1"
TEMPLATE = {
    "heat_template_version": "2018-08-31",
    "description": MARKUP,
    "parameters": {"p": {"type": "string", "default": "d", "label": MARKUP}},
    "resources": {
        MARKUP: {"type": "OS::Heat::TestResource", "properties": {"value": {"get_param": "p"}}},
        "plain": {"type": "OS::Heat::RandomString"},
    },
    "outputs": {MARKUP: {"description": MARKUP, "value": MARKUP}},
}
PLAIN = {
    "heat_template_version": "2018-08-31",
    "resources": {"plain": {"type": "OS::Heat::RandomString"}},
}
VIEWS = ("resources", "resources/plain", "events", "timeline", "outputs", "template", "update")
OTHER_SITE = "http://other.test/"
# A form can send any text; this one sends the JSON of a request.
FORM = """<form method="post" enctype="text/plain"><input name='{"stack_name": "forged",
"template": {"heat_template_version": "2018-08-31"}, "files": {"a' value='": ""}}'></form>"""
ADD_FRAME = """url => {
    const frame = document.createElement("iframe");
    frame.src = url;
    document.body.append(frame);
}"""
SUBMIT = "url => { document.forms[0].action = url; document.forms[0].submit(); }"


def create_stack_with_markup(service: LocalService) -> str:
    path = create_stack(service, TEMPLATE, tags=f"a,{MARKUP[:70]}")
    unhealthy = {"mark_unhealthy": True, "resource_status_reason": MARKUP}
    assert service.send("PATCH", f"{path}/resources/plain", unhealthy).status_int == 200
    return path


def test_markup_of_users_is_shown_as_text(
    recorded: RecordedPage, emulated: EmulatedConsole
) -> None:
    path = create_stack_with_markup(emulated.service)
    page = recorded.open(f"{emulated.url}/#/p/stacks")
    expect(page.locator("tbody")).to_contain_text(MARKUP[:70])
    for view in VIEWS:
        page.goto(f"{emulated.url}/#/p{path}/{view}")
        expect(page.locator("main .tabs + *")).to_contain_text(MARKUP)
    expect(page.locator(".state")).to_contain_text(MARKUP)
    page.get_by_role("button", name="Make a plan").click()
    expect(page.get_by_role("heading", name="Plan: patch s")).to_be_visible()
    page.goto(f"{emulated.url}/#/p{path}/graph")
    expect(page.locator("section.split")).to_have_attribute("data-nodes", "2")
    page.locator("canvas").press("n")
    expect(page.locator(".details")).to_contain_text(MARKUP)
    page.goto(f"{emulated.url}/#/p/create")
    _create_from(page, MARKUP, f"# {MARKUP}\n{{heat_template_version: 2018-08-31}}")
    expect(page.get_by_role("alert")).to_contain_text(MARKUP)
    _create_from(page, "large", f"heat_template_version: 2018-08-31\n# {'x' * 5_000_000}")
    expect(page.get_by_role("alert")).to_contain_text("limit exceeded")
    expect(page.get_by_label("Name of the stack")).to_have_value("large")
    assert page.evaluate("window.wasExecuted") is None


def _create_from(page: Page, name: str, template: str) -> None:
    drop_files(page, ".goal", {"template.yaml": template})
    page.get_by_label("Name of the stack").fill(name)
    page.get_by_role("button", name="Create the stack").click()


def test_dead_links_show_an_error(recorded: RecordedPage, emulated: EmulatedConsole) -> None:
    service = emulated.service
    own = create_stack(service, PLAIN)
    body = {"stack_name": "theirs", "template": PLAIN}
    theirs = service.send("POST", "/stacks", body, project="q").json["stack"]["id"]
    own_id = own.split("/")[-1]
    missing = "There is no such stack in this project"
    links = {
        f"stacks/theirs/{theirs}": missing,
        f"stacks/s/{theirs}/events": missing,
        f"stacks/theirs/{own_id}": missing,
        "stacks/../..": "has no such address",
        f"stacks/../{own_id}/update": "has no such address",
        "stacks/s%2f..%2f/%2e%2e": "has no such address",
        "stacks/%00/%ff": "The URL",
        f"stacks/s/{own_id}/resources/theirs": "theirs) could not be found",
        f"stacks/s/{own_id}/no-tab": "What stands higher",
        f"plans/{theirs}": "could not be found",
        "plans/<b>": "could not be found",
        "<b>?search=<b>&page=-1": "0 of 1 stacks",
    }
    page = recorded.open(f"{emulated.url}/#/p/stacks")
    for link, text in links.items():
        page.goto(f"{emulated.url}/#/p/{link}")
        expect(page.locator("body")).to_contain_text(text)
    _delete_while_looked_at(page, emulated, own)


def _delete_while_looked_at(page: Page, emulated: EmulatedConsole, path: str) -> None:
    service = emulated.service
    page.goto(f"{emulated.url}/#/p{path}/resources/plain")
    expect(page.get_by_role("button", name="Delete")).to_be_visible()
    service.send("DELETE", path)
    expect(page.locator(".state")).to_contain_text("DELETE_COMPLETE")
    expect(page.get_by_role("button", name="Delete")).to_have_count(0)
    assert purge.purge_stacks(service.database, [path.split("/")[-1]])
    page.get_by_role("link", name="Events").click()
    expect(page.locator(".state")).to_contain_text("There is no such stack")
    assert page.evaluate("window.markedByTest === true"), "the page was reloaded"


def test_pages_of_other_sites_are_refused(chromium: Browser, emulated: EmulatedConsole) -> None:
    page = chromium.new_page()
    page.set_default_timeout(TIMEOUT_MS)
    page.route(OTHER_SITE, lambda route: route.fulfill(body=FORM, content_type="text/html"))
    page.goto(OTHER_SITE)
    with page.expect_event("requestfailed") as failed:
        page.evaluate(ADD_FRAME, f"{emulated.url}/")
    assert failed.value.failure == "net::ERR_BLOCKED_BY_RESPONSE"
    url = emulated.url.replace("/console", "/v1/p/stacks")
    with page.expect_response(url) as answered:
        page.evaluate(SUBMIT, url)
    assert answered.value.status == 403
    assert emulated.service.send("GET", "/stacks").json["stacks"] == []
    page.close()
