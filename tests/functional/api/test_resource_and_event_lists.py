"""Every option of the lists of resources and events, on every database."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from heat_convergence.api.services import ApiOptions
from tests.functional.api.list_samples import A, ask, fill, names, uid
from tests.functional.harness import LocalService


@pytest.fixture(scope="module")
def service(any_database_url: str) -> Iterator[LocalService]:
    options = ApiOptions(hidden_stack_tags=("hide",), max_resources_per_stack=-1)
    service = LocalService(any_database_url, options)
    fill(service)
    yield service
    service.close()


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("", "nxy"),
        ("nested_depth=0", "nxy"),
        ("nested_depth=1", "nxyz"),
        ("nested_depth=99", "nxyz"),
        ("name=x", "x"),
        ("name=x&name=y", "xy"),
        ("name=z", ""),
        ("name=z&nested_depth=1", "z"),
        ("status=COMPLETE", "nx"),
        ("status=COMPLETE&status=FAILED", "nxy"),
        ("action=UPDATE", "y"),
        ("type=Nova", "xy"),
        ("type=Server", "x"),
        ("type=%25", ""),
        ("physical_resource_id=server-x", "x"),
        (f"id={uid(102)}", "y"),
        ("type=Server&nested_depth=1&status=IN_PROGRESS", "z"),
    ],
)
def test_resources(service: LocalService, query: str, expected: str) -> None:
    assert names(service, f"{A}/resources?{query}") == list(expected)


@pytest.mark.parametrize(
    "query", ["limit=1", f"marker={uid(1)}", "colour=blue", "nested_depth=x", "with_detail=1"]
)
def test_resources_refuse(service: LocalService, query: str) -> None:
    assert service.send("GET", f"{A}/resources?{query}").status_int == 400


def test_resources_in_detail(service: LocalService) -> None:
    plain = ask(service, f"{A}/resources")["resources"]
    assert "attributes" not in plain[0]
    detailed = ask(service, f"{A}/resources?with_detail=true&nested_depth=2")["resources"]
    assert [each["description"] for each in detailed] == ["the n", "the x", "the y", "the z"]
    assert [each["required_by"] for each in detailed] == [[], ["y"], [], []]
    assert [each.get("parent_resource") for each in detailed] == [None, None, None, "n"]
    assert all(isinstance(each["attributes"], dict) for each in detailed)


def test_requested_attributes_are_shown(service: LocalService) -> None:
    shown = ask(service, f"{A}/resources/x?with_attr=one&with_attr=two")["resource"]
    assert {"one", "two"} <= shown["attributes"].keys()


def test_outputs_may_be_left_out(service: LocalService) -> None:
    assert ask(service, A)["stack"]["outputs"] == []
    assert "outputs" not in ask(service, f"{A}?resolve_outputs=false")["stack"]
    assert service.send("GET", f"{A}?resolve_outputs=no").status_int == 400


# -- events ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("", "987654321"),
        ("sort_dir=asc", "123456789"),
        ("sort_dir=asc&limit=2", "12"),
        (f"sort_dir=asc&limit=2&marker={uid(202)}", "34"),
        (f"marker={uid(203)}", "21"),
        (f"marker={uid(999)}&limit=1", "9"),
        ("marker=&sort_dir=asc&limit=1", "1"),
        ("limit=0", ""),
        ("resource_name=x", "852"),
        ("resource_name=x&resource_name=y&limit=3", "986"),
        ("resource_status=FAILED", "963"),
        ("resource_action=UPDATE", "987"),
        ("resource_type=K", "963"),
        ("sort_keys=resource_type", "369147258"),
        ("sort_keys=resource_type&sort_dir=desc", "852741963"),
        ("sort_keys=event_time", "123456789"),
        (f"sort_keys=resource_type&marker={uid(209)}", "147258"),
        ("colour=blue", "987654321"),
    ],
)
def test_events(service: LocalService, query: str, expected: str) -> None:
    assert names(service, f"{A}/events?{query}") == list(expected)


def test_events_of_a_tree(service: LocalService) -> None:
    path = f"{A}/events?nested_depth=1&sort_dir=asc"
    found = ask(service, path)["events"]
    assert [each["resource_name"] for each in found] == [*"nxynxynxyzz"]
    assert all({"root_stack"} <= {each["rel"] for each in one["links"]} for one in found)
    last = found[8]["id"]
    assert len(ask(service, f"{path}&marker={last}&limit=1")["events"]) == 1
    plain = ask(service, f"{A}/events")["events"]
    assert "root_stack" not in {each["rel"] for each in plain[0]["links"]}


def test_events_of_a_resource(service: LocalService) -> None:
    assert names(service, f"{A}/resources/x/events") == list("852")
    assert names(service, f"{A}/resources/x/events?sort_dir=asc&limit=1") == ["2"]
    assert service.send("GET", f"{A}/resources/nobody/events").status_int == 404
