"""Events in detail: the properties and the physical id at every stage of an action."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from webob import Request

from heat_convergence.api.services import ApiOptions
from tests.functional.harness import LocalService
from tests.functional.project_client import ProjectClient, hot_template, resource_definition

Json = Any


@pytest.fixture
def heat(tmp_path: Path) -> Iterator[ProjectClient]:
    service = LocalService(f"sqlite:///{tmp_path}/hc.sqlite", ApiOptions())
    yield ProjectClient(service)
    service.close()


def event_details(heat: ProjectClient, path: str, resource: str) -> list[Json]:
    """Details of a resource's events, oldest first."""
    listed = heat.send("GET", f"{path}/resources/{resource}/events?sort_dir=asc").json["events"]
    return [
        heat.send("GET", f"{path}/resources/{resource}/events/{each['id']}").json["event"]
        for each in listed
    ]


def test_every_event_of_an_action_shows_its_properties(heat: ProjectClient) -> None:
    heat.create("s", hot_template({"a": resource_definition(value="one")}))
    heat.update("s", hot_template({"a": resource_definition(value="two")}))
    path = heat.path("s")
    heat.delete("s")
    shown = [
        (each["resource_status"], each["resource_properties"])
        for each in event_details(heat, path, "a")
    ]
    assert shown == [
        ("CREATE_IN_PROGRESS", {"value": "one"}),
        ("CREATE_COMPLETE", {"value": "one"}),
        ("UPDATE_IN_PROGRESS", {"value": "two"}),
        ("UPDATE_COMPLETE", {"value": "two"}),
        ("DELETE_IN_PROGRESS", {"value": "two"}),
        ("DELETE_COMPLETE", {"value": "two"}),
    ]


def test_events_of_a_replaced_resource_show_the_properties_of_their_incarnation(
    heat: ProjectClient,
) -> None:
    template = hot_template({"a": resource_definition(value="one", update_replace=True)})
    heat.create("s", template)
    heat.update("s", hot_template({"a": resource_definition(value="two", update_replace=True)}))
    shown = [
        (each["resource_status"], each["resource_properties"]["value"])
        for each in event_details(heat, heat.path("s"), "a")[2:]
    ]
    assert shown == [
        ("CREATE_IN_PROGRESS", "two"),
        ("CREATE_COMPLETE", "two"),
        ("DELETE_IN_PROGRESS", "one"),
        ("DELETE_COMPLETE", "one"),
    ]


def test_an_event_before_there_is_a_physical_id_shows_the_physical_name(
    heat: ProjectClient,
) -> None:
    heat.create("s", hot_template({"a": resource_definition(value="one", fail=True)}))
    names = {each["physical_resource_id"] for each in event_details(heat, heat.path("s"), "a")}
    assert len(names) == 1
    assert names.pop().startswith("s-a-")


def test_an_event_of_the_stack_has_no_properties(heat: ProjectClient) -> None:
    heat.create("s", hot_template({"s": resource_definition(value="one")}))
    path = heat.path("s")
    own = heat.stack("s")["id"]
    shown = [
        each["resource_properties"]
        for each in event_details(heat, path, "s")
        if each["physical_resource_id"] == own
    ]
    assert shown == [{}, {}]


@pytest.mark.parametrize("accepted", ["application/json", "text/html, application/json;q=0.9"])
def test_a_bare_status_is_json_for_clients_that_accept_it(
    heat: ProjectClient, accepted: str
) -> None:
    heat.create("s", hot_template({"a": resource_definition(value="one")}))
    template = hot_template({"a": resource_definition(value="two")})
    request = Request.blank(f"/v1/p{heat.path('s')}", method="PUT", accept=accepted)
    request.json = {"template": template}
    updated = request.get_response(heat.service.app)
    assert (updated.status_int, updated.content_type) == (202, "application/json")
    assert updated.json["code"] == "202 Accepted"
    assert updated.json["title"] == "Accepted"
    found = Request.blank("/v1/p/stacks/s", accept=accepted).get_response(heat.service.app)
    assert (found.status_int, found.json["title"]) == (302, "Found")
    assert found.location.endswith(heat.path("s"))
    assert found.location in found.json["message"]


def test_a_bare_status_is_text_for_other_clients(heat: ProjectClient) -> None:
    heat.create("s", hot_template({"a": resource_definition(value="one")}))
    found = Request.blank("/v1/p/stacks/s").get_response(heat.service.app)
    assert (found.status_int, found.content_type) == (302, "text/plain")
