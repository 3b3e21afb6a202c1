"""The editor of templates: completion, findings of the linter, differences."""

from __future__ import annotations

import pytest
from playwright.sync_api import Route, expect

from tests.console.browser import RecordedPage, drop_files, take_screenshot
from tests.console.conftest import EmulatedConsole
from tests.functional.openstack_types.emulated_service import create_stack, port, template

HOLD_S = 10  # on a busy machine
# Keeps the longest time, in milliseconds, for which the page did nothing else.
RECORD_LONGEST_HOLD = """window.longestHoldMs = 0;
let last = performance.now();
setInterval(() => {
    window.longestHoldMs = Math.max(window.longestHoldMs, performance.now() - last);
    last = performance.now();
}, 20);"""
START = """heat_template_version: 2018-08-31
parameters:
  size: {type: number}
resources:
  net:
    type: OS::Neutron::Net
  port:
"""


def test_template_is_completed_and_checked_while_it_is_typed(
    recorded: RecordedPage, emulated: EmulatedConsole
) -> None:
    page = recorded.open(f"{emulated.url}/#/p/create")
    text = page.get_by_label("Template", exact=True)
    text.fill(START)
    text.press_sequentially("    ty")
    option = page.get_by_role("option")
    option.filter(has_text="type").click()
    text.press_sequentially("OS::Neutron::Por")
    expect(option.first).to_contain_text("OS::Neutron::Port")
    take_screenshot(page, "completion")
    text.press("ArrowDown")
    text.press("Enter")
    text.press_sequentially("\n    properties:\n      network: {get_resource: ")
    text.press("Control+Space")
    expect(option).to_have_text(["net ", "port "])
    text.press("Enter")
    text.press_sequentially("}\n      nam: x")
    text.press("Escape")
    typed = START + "    type: OS::Neutron::Port\n    properties:\n"
    typed += "      network: {get_resource: net}\n      nam: x"
    expect(text).to_have_value(typed)
    findings = page.get_by_role("list", name="Findings")
    expect(findings.get_by_role("listitem")).to_have_count(2)
    expect(findings).to_contain_text("W201 warning")
    expect(findings).to_contain_text('did you mean "name"')
    findings.get_by_role("button", name="Line 11").click()
    text.press_sequentially("      name: front")
    expect(findings).not_to_contain_text("did you mean")
    expect(text).to_have_value(typed.replace("nam: x", "name: front"))


def test_templates_and_versions_are_compared(
    recorded: RecordedPage, emulated: EmulatedConsole
) -> None:
    service = emulated.service
    path = create_stack(service, template(port=port(name="old")))
    saved = service.send("POST", f"{path}/snapshots", {"name": "before"}).json["id"]
    changed = {"template": template(port=port(name="new"))}
    assert service.send("PATCH", path, changed).status_int == 202
    page = recorded.open(f"{emulated.url}/#/p{path}/versions")
    removed, added = page.locator("tr.removed"), page.locator("tr.added")
    expect(removed).to_contain_text('"name": "old"')
    expect(added).to_contain_text('"name": "new"')
    page.get_by_label("To").select_option(saved)
    expect(page.get_by_text("There is no difference.")).to_be_visible()
    page.goto(f"{emulated.url}/#/p{path}/versions?from=present&to={saved}")
    expect(added).to_contain_text('"name": "old"')

    page.goto(f"{emulated.url}/#/p{path}/update")
    text = page.get_by_label("Template", exact=True)
    expect(text).not_to_be_empty()
    page.get_by_text("Difference from the present template").click()
    text.fill(text.input_value().replace('"new"', '"newer"'))
    expect(added).to_contain_text('"name": "newer"')

    page.goto(f"{emulated.url}/#/p/compare")
    page.get_by_label("First template").fill("a\nb\nc")
    page.get_by_label("Second template").fill("a\nc\nd")
    page.get_by_role("button", name="Compare").last.click()
    expect(removed).to_have_count(1)
    expect(added).to_have_count(1)


def large_template(word: str) -> str:
    """Return a template of 5 MB."""
    line = "    properties: {value: %s}\n"
    lines = (f"  r{number}:\n    type: OS::Heat::Value\n{line % word}" for number in range(90_000))
    return f"heat_template_version: 2018-08-31\nresources:\n{''.join(lines)}"


SMALL = "heat_template_version: 2018-08-31\nparameters: {size: {type: number}}\n"
BAD_NAME = "not a name"
LARGE_TEXTS = {
    "YAML": large_template("a"),
    "empty lines": "\n" * 5_000_000 + START,
    "one line of spaces": f"{START}# {' ' * 5_000_000}\n",
}


@pytest.mark.parametrize("name", LARGE_TEXTS)
def test_templates_of_5_megabytes_do_not_hold_the_page(
    recorded: RecordedPage, emulated: EmulatedConsole, name: str
) -> None:
    recorded.page.add_init_script(RECORD_LONGEST_HOLD)
    page = recorded.open(f"{emulated.url}/#/p/create")
    drop_files(page, ".goal", {"t.yaml": LARGE_TEXTS[name]})
    expect(page.get_by_text("t.yaml has")).to_contain_text("too many to be edited here")
    expect(page.get_by_role("alert")).to_contain_text("limit exceeded")
    page.get_by_role("button", name="Use another text").click()
    page.get_by_label("Template", exact=True).fill(SMALL)
    expect(page.get_by_label("size")).to_be_visible()
    held_s = page.evaluate("window.longestHoldMs") / 1e3
    print(f"{name}: {held_s:.1f} s")
    assert held_s < HOLD_S


def test_line_of_a_megabyte_is_not_completed(
    recorded: RecordedPage, emulated: EmulatedConsole
) -> None:
    recorded.page.add_init_script(RECORD_LONGEST_HOLD)
    page = recorded.open(f"{emulated.url}/#/p/create")
    text = page.get_by_label("Template", exact=True)
    text.fill(f"{START}    value: {{get_param: {' ' * 900_000}x")
    text.press("Control+Space")
    expect(page.get_by_role("alert")).not_to_be_empty()
    assert page.evaluate("window.longestHoldMs") / 1e3 < HOLD_S


def test_large_templates_are_compared(recorded: RecordedPage, emulated: EmulatedConsole) -> None:
    recorded.page.add_init_script(RECORD_LONGEST_HOLD)
    page = recorded.open(f"{emulated.url}/#/p/compare")
    for number, word in enumerate("ab"):
        drop_files(page, f".halves > div:nth-child({number + 1})", {word: large_template(word)})
    page.get_by_role("button", name="Compare").last.click()
    expect(page.get_by_text("lines differ. The first 5000 lines are shown.")).to_be_visible()
    held_s = page.evaluate("window.longestHoldMs") / 1e3
    print(f"compared: {held_s:.1f} s")
    assert held_s < HOLD_S


def test_refusal_stays_when_the_check_of_the_template_ends_later(
    recorded: RecordedPage, emulated: EmulatedConsole
) -> None:
    page = recorded.open(f"{emulated.url}/#/p/create")
    held: list[Route] = []
    page.route("**/validate", lambda route: held.append(route))
    drop_files(page, ".goal", {"t.yaml": SMALL})
    page.get_by_label("Name of the stack").fill(BAD_NAME)
    page.get_by_role("button", name="Create the stack").click()
    expect(page.get_by_role("alert")).to_contain_text(BAD_NAME)
    for route in held:
        route.continue_()
    page.unroute("**/validate")
    expect(page.get_by_label("size")).to_be_visible()
    expect(page.get_by_role("alert")).to_contain_text(BAD_NAME)
    page.get_by_label("Template", exact=True).press("End")
    page.keyboard.type(" ")
    expect(page.get_by_role("alert")).to_be_hidden()
