"""The console of a standalone service: from a dropped template to the deletion of its stack."""

from __future__ import annotations

import re

from playwright.sync_api import Page, expect

from tests.console.browser import RecordedPage, drop_files, take_screenshot

SCRIPT = "<script>window.wasExecuted = 1</script><img src=x onerror='window.wasExecuted = 1'>"
TEMPLATE = f"""
heat_template_version: 2018-08-31
description: "{SCRIPT}"
parameters:
  seconds: {{type: number, default: 2, description: "{SCRIPT}"}}
resources:
  first: {{type: OS::Heat::TestResource, properties: {{value: "{SCRIPT}"}}}}
  second:
    type: OS::Heat::TestResource
    properties: {{wait_secs: {{get_param: seconds}}, value: {{get_attr: [first, output]}}}}
  group:
    type: OS::Heat::ResourceGroup
    properties: {{count: 2, resource_def: {{type: OS::Heat::RandomString}}}}
  last: {{type: OS::Heat::RandomString, depends_on: [second, group]}}
outputs:
  markup: {{description: "{SCRIPT}", value: "{SCRIPT}"}}
"""
ENVIRONMENT = "resource_registry: {resources: {last: {hooks: pre-create}}}\n"
FAILING = """
heat_template_version: 2018-08-31
resources:
  broken: {type: OS::Heat::TestResource, properties: {fail: true}}
"""


def create(page: Page, name: str, files: dict[str, str]) -> None:
    page.get_by_role("link", name="Create a stack").click()
    drop_files(page, ".goal", files)
    page.get_by_label("Name of the stack").fill(name)
    page.get_by_role("button", name="Create the stack").click()
    expect(page.get_by_role("heading", level=1, name=name)).to_be_visible()


def tab(page: Page, name: str) -> None:
    tabs = page.get_by_role("navigation", name="Parts of the stack")
    tabs.get_by_role("link", name=name).click()


def confirm(page: Page, button: str, confirmation: str) -> None:
    page.get_by_role("button", name=button, exact=True).click()
    page.get_by_role("dialog").get_by_role("button", name=confirmation).click()


def test_stack_from_a_dropped_template_to_its_deletion(
    recorded: RecordedPage, standalone: str
) -> None:
    page = recorded.open(standalone)
    expect(page.get_by_role("heading", name="Stacks")).to_be_visible()
    create(page, "shop", {"shop.yaml": TEMPLATE, "env.yaml": ENVIRONMENT})
    expect(page.get_by_text("CREATE_IN_PROGRESS").first).to_be_visible()
    expect(page.get_by_text("waits at the breakpoint pre-create").first).to_be_visible()
    assert page.get_by_text(SCRIPT).first.is_visible()

    tab(page, "Resources")
    row = page.locator("tr", has=page.get_by_role("link", name="second", exact=True))
    expect(row.get_by_text("CREATE_COMPLETE")).to_be_visible()
    page.locator(".waiting").get_by_role("link", name="last").click()
    page.get_by_role("button", name="Clear the breakpoint pre-create").click()
    expect(page.locator(".state").get_by_text("CREATE_COMPLETE")).to_be_visible()

    tab(page, "Graph")
    expect(page.locator("section.split")).to_have_attribute("data-nodes", "4")
    page.locator("canvas").press("n")
    expect(page.locator(".details")).to_contain_text("OS::Heat")
    take_screenshot(page, "graph")
    for part, text in (
        ("Timeline", "the longest is"),
        ("Events", "Stack CREATE completed successfully"),
        ("Outputs", SCRIPT),
        ("Template", "heat_template_version"),
        ("Drift", "NOT_CHECKED"),
    ):
        tab(page, part)
        expect(page.locator("main")).to_contain_text(text)
        take_screenshot(page, part.lower())

    tab(page, "Timeline")
    for name in ("second", "last"):
        row = page.locator("tr", has=page.get_by_role("link", name=name, exact=True))
        expect(row).to_contain_text("★")
    page.get_by_label("Moment").fill("0")
    expect(page.get_by_role("link", name="last", exact=True)).to_have_count(0)
    expect(page).to_have_url(re.compile(r"timeline\?at=20"))
    moment = page.url
    page.get_by_role("button", name="Present").click()
    expect(page.get_by_role("link", name="last", exact=True)).to_be_visible()
    page.goto(moment)
    expect(page.get_by_text(re.compile("^At "))).to_be_visible()
    expect(page.get_by_role("link", name="last", exact=True)).to_have_count(0)

    confirm(page, "Delete", "Delete the stack")
    expect(page.locator("main")).to_contain_text(re.compile("DELETE_COMPLETE|was deleted"))
    assert not recorded.was_reloaded
    assert page.evaluate("window.wasExecuted") is None
    assert recorded.hosts == {standalone.split("/")[2]}


def test_nested_stack_folds_out_in_the_graph(recorded: RecordedPage, standalone: str) -> None:
    page = recorded.open(standalone)
    create(page, "folded", {"t.yaml": TEMPLATE.replace(SCRIPT, "a shop")})
    expect(page.locator(".state").get_by_text("CREATE_COMPLETE")).to_be_visible()
    for _ in range(4):
        page.locator("canvas").press("n")
        if page.get_by_role("button", name="Fold out").count():
            break
    page.get_by_role("button", name="Fold out").click()
    expect(page.locator("section.split")).to_have_attribute("data-nodes", "6")
    page.evaluate("scrollTo(0, 0)")
    take_screenshot(page, "nested-graph")
    page.get_by_role("button", name="Fold in").click()
    expect(page.locator("section.split")).to_have_attribute("data-nodes", "4")


def test_failed_stack_shows_where_it_failed_and_why(
    recorded: RecordedPage, standalone: str
) -> None:
    page = recorded.open(standalone)
    create(page, "failing", {"t.yaml": FAILING})
    expect(page.get_by_role("note")).to_contain_text("First failure: broken")
    page.get_by_role("note").get_by_role("link", name="broken").click()
    expect(page.get_by_role("heading", level=2, name="broken")).to_be_visible()
    expect(page.locator("main")).to_contain_text("CREATE_FAILED")
    page.get_by_role("link", name="Stacks", exact=True).click()
    page.get_by_label("State").select_option("failed")
    expect(page.get_by_role("row", name="failing")).to_be_visible()
    expect(page).to_have_url(re.compile("state=failed"))


def test_workers_of_the_service_are_shown(recorded: RecordedPage, standalone: str) -> None:
    page = recorded.open(f"{standalone}/#/standalone/service")
    for daemon in ("api", "engine", "observer"):
        row = page.get_by_role("row", name=f"heat-convergence-{daemon}")
        expect(row.get_by_text("up", exact=True)).to_be_visible()


def test_mistake_in_a_template_is_shown_while_it_is_typed(
    recorded: RecordedPage, standalone: str
) -> None:
    page = recorded.open(f"{standalone}/#/standalone/create")
    page.get_by_label("Template").fill(TEMPLATE.replace("OS::Heat::RandomString", "No::Type"))
    expect(page.get_by_role("alert")).to_contain_text("No::Type")
    page.get_by_label("Template").fill(TEMPLATE)
    expect(page.get_by_label("seconds")).to_be_visible()
    expect(page.get_by_role("alert")).to_be_hidden()


def test_unknown_stack_and_tampered_address(recorded: RecordedPage, standalone: str) -> None:
    page = recorded.open(f"{standalone}/#/standalone/stacks/none/%zz")
    expect(page.locator("main")).to_contain_text("There is no such stack")
    page.goto(f"{standalone}/#/standalone/<b>nothing</b>")
    expect(page.get_by_role("heading", name="Stacks")).to_be_visible()
