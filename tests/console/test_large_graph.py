"""A graph of 2,000 resources: the first picture, and panning and zooming."""

from __future__ import annotations

import re
from typing import Any

from playwright.sync_api import Route, expect

from tests.console.browser import RecordedPage, take_screenshot
from tests.console.conftest import EmulatedConsole
from tests.functional.openstack_types.emulated_service import create_stack

COUNT, LAYER = 2_000, 25
# Other tests share the machine, so that the script's time for a frame is judged, not the frames.
FIRST_PICTURE_S, FRAME_MS, MEMORY_BYTES = 1.0, 1000 / 30, 300 * 2**20
STACK = {
    "stack_name": "large",
    "id": "large-id",
    "stack_status": "CREATE_IN_PROGRESS",
    "stack_status_reason": "Stack CREATE started",
    "description": "No description",
    "creation_time": "2026-11-23T10:00:00Z",
    "updated_time": None,
    "drift_status": "NOT_CHECKED",
    "parent": None,
    "tags": [],
}
PROGRESS = {
    "stack_status": "CREATE_IN_PROGRESS",
    "resources_total": COUNT,
    "jobs": {"POSTED": 1000},
    "first_failure": None,
    "resources": [],
}
LONGEST_ANSWER = """Math.max(...performance.getEntriesByType("resource")
    .filter((each) => each.name.includes("/resources")).map((each) => each.duration))"""
FROM_ADDRESS_S = 5.0  # 0.6 s were measured on a busy machine
# Moves and zooms the graph at each frame for two seconds; returns the milliseconds from frame to
# frame, and those that the script took to draw each.
MOVE = """() => new Promise(resolve => {
    const canvas = document.querySelector("canvas");
    const end = performance.now() + 2000;
    const times = [];
    const drawn = [];
    let frames = 0;
    let last = performance.now();
    function frame(now) {
        if (now > end) return resolve([times, drawn]);
        times.push(now - last);
        drawn.push(Number(canvas.dataset.paintMs));
        last = now;
        frames += 1;
        const direction = frames % 60 < 30 ? "ArrowLeft" : "ArrowRight";
        canvas.dispatchEvent(new KeyboardEvent("keydown", {key: direction}));
        canvas.dispatchEvent(new WheelEvent("wheel", {deltaY: frames % 40 < 20 ? -1 : 1}));
        requestAnimationFrame(frame);
    }
    requestAnimationFrame(frame);
})"""


def resource(number: int) -> dict[str, Any]:
    status = ("CREATE_COMPLETE", "CREATE_IN_PROGRESS", "INIT_COMPLETE")[number * 3 // COUNT]
    users = [number + LAYER, number + LAYER + 1, number + LAYER * 2]
    return {
        "resource_name": f"server-{number:04}",
        "resource_type": "OS::Nova::Server",
        "resource_status": status,
        "resource_status_reason": "",
        "drift_status": "NOT_CHECKED",
        "required_by": [f"server-{each:04}" for each in users if each < COUNT],
        "links": [],
    }


def answer(route: Route) -> None:
    path = route.request.url.partition("?")[0]
    if path.endswith("/resources"):
        route.fulfill(json={"resources": [resource(number) for number in range(COUNT)]})
    elif path.endswith("/events"):
        route.fulfill(json={"events": []})
    elif path.endswith("/progress"):
        route.fulfill(json={"progress": PROGRESS})
    else:
        route.fulfill(json={"stack": STACK})


def test_two_thousand_resources_are_drawn_at_once_and_move_smoothly(
    recorded: RecordedPage, emulated: EmulatedConsole
) -> None:
    recorded.page.route(re.compile("/v1/"), answer)
    page = recorded.open(f"{emulated.url}/#/p/stacks/large/large-id")
    expect(page.locator("section.split")).to_have_attribute("data-nodes", str(COUNT))
    drawing = "Number(document.querySelector('section.split').dataset.drawingMs)"
    drawing_s = page.evaluate(drawing) / 1e3
    times_ms, drawn_ms = (sorted(each[2:]) for each in page.evaluate(MOVE))
    middle = len(times_ms) // 2
    memory = page.evaluate("performance.memory.usedJSHeapSize")
    print(
        f"first picture {drawing_s} s, {1000 / times_ms[middle]:.0f} frames/s,"
        f" script {drawn_ms[middle]} ms a frame, {memory / 2**20:.0f} MiB"
    )
    take_screenshot(page, "large-graph")
    assert drawing_s < FIRST_PICTURE_S
    assert drawn_ms[middle] < FRAME_MS
    assert memory < MEMORY_BYTES


def test_stack_of_two_thousand_resources_is_drawn_from_the_api(
    recorded: RecordedPage, emulated: EmulatedConsole
) -> None:
    """The time from the address to the picture, with what the service needs for its answers."""
    plain = {"type": "OS::Heat::None"}
    resources = {
        f"r{number:04}": {**plain, "depends_on": [f"r{number - LAYER:04}"]}
        if number >= LAYER
        else plain
        for number in range(COUNT)
    }
    template = {"heat_template_version": "2018-08-31", "resources": resources}
    path = create_stack(emulated.service, template)
    page = recorded.open(f"{emulated.url}/#/p/overview")
    started = page.evaluate("performance.now()")
    page.goto(f"{emulated.url}/#/p{path}")
    shown = page.locator("section.split")
    expect(shown).to_have_attribute("data-nodes", str(COUNT))
    seconds = (page.evaluate("performance.now()") - started) / 1e3
    answer = page.evaluate(LONGEST_ANSWER) / 1e3
    print(f"from the address to the picture {seconds:.2f} s, of it for the answer {answer:.2f} s")
    assert seconds < FROM_ADDRESS_S
