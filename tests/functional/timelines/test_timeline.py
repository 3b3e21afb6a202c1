"""Timelines of traversals: recorded times, causes, the critical path and the estimate.

All times are those of the service's manual clock.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import datetime
from typing import Any

import pytest

from heat_convergence.resources.builtin.test_resource import TestResource
from tests.functional.harness import LocalService
from tests.functional.project_client import ProjectClient, hot_template, resource_definition
from tests.functional.timelines.timeline_templates import DIAMOND, reading

Json = Any
CHILD = "file:///t/child.yaml"
TOLERANCE = 0.05


@pytest.fixture
def heat(tmp_path: Any) -> Iterator[ProjectClient]:
    service = LocalService(f"sqlite:///{tmp_path}/hc.sqlite")
    yield ProjectClient(service)
    service.close()


def timeline(heat: ProjectClient, key: str = "s", query: str = "") -> Json:
    found = heat.send("GET", f"{heat.path(key)}/timeline{query}", leave_pending=True)
    assert found.status_int == 200, found.text
    return found.json["timeline"]


def by_name(shown: Json) -> dict[str, Json]:
    return {each["path"]: each for each in shown["resources"]}


def path_of(shown: Json) -> list[str]:
    return [each["path"] for each in shown["critical_path"]]


def assert_sums_to_wall_time(shown: Json) -> None:
    assert shown["wall_time_s"] > 0
    assert abs(shown["critical_path_s"] - shown["wall_time_s"]) <= TOLERANCE * shown["wall_time_s"]
    phases = shown["phases"].values()
    assert sum(each["share"] for each in phases) == pytest.approx(1)


def test_times_of_a_resource_are_recorded_in_order(heat: ProjectClient) -> None:
    heat.create("s", DIAMOND)
    shown = by_name(timeline(heat))["slow"]
    names = ("released_at", "posted_at", "claimed_at", "call_started_at", "call_ended_at",
             "observed_at", "ready_at")  # fmt: skip
    times = [datetime.fromisoformat(shown[name]) for name in names]
    assert times == sorted(times)
    waited = (times[-1] - times[0]).total_seconds()
    assert 20 <= waited < 22
    assert shown["unblocked_by"] == "a"
    phases = {each["phase"] for each in shown["segments"]}
    assert phases == {"dependencies", "queue", "service_call", "waiting_for_cloud", "observation"}


def test_the_critical_path_sums_to_the_wall_time(heat: ProjectClient) -> None:
    heat.create("s", DIAMOND)
    shown = timeline(heat)
    assert path_of(shown) == ["a", "slow", "z"]
    assert_sums_to_wall_time(shown)
    assert [each["unblocked_by"] for each in shown["critical_path"]] == [None, "a", "slow"]
    assert shown["phases"]["waiting_for_cloud"]["share"] > 0.9
    assert shown["remaining"] is None
    assert shown["waits_for"] == []


def test_deletions_are_recorded_without_their_rows(heat: ProjectClient) -> None:
    heat.create("s", DIAMOND)
    stack_id = heat.stack("s")["id"]
    heat.delete("s")
    shown = timeline(heat, stack_id)
    assert (shown["action"], shown["status"]) == ("DELETE", "COMPLETE")
    assert set(by_name(shown)) == {"a", "slow", "fast", "z", "alone"}
    assert_sums_to_wall_time(shown)
    earlier = timeline(heat, stack_id, "?version=1")
    assert earlier["action"] == "CREATE"
    assert path_of(earlier) == ["a", "slow", "z"]
    assert_sums_to_wall_time(earlier)


def test_earlier_traversals_stay_readable(heat: ProjectClient) -> None:
    heat.create("s", DIAMOND)
    changed = {**DIAMOND["resources"], "alone": resource_definition(value="c", wait_secs=1)}
    heat.update("s", hot_template(changed))
    shown = timeline(heat)
    assert [each["version"] for each in shown["traversals"]] == [1, 2]
    assert shown["action"] == "UPDATE"
    assert set(by_name(shown)) == {"alone"}
    assert_sums_to_wall_time(shown)
    first = timeline(heat, query="?version=1")
    assert set(by_name(first)) == {"a", "slow", "fast", "z", "alone"}
    missing = heat.send("GET", f"{heat.path('s')}/timeline?version=7")
    assert missing.status_int == 404


def test_replacements_of_an_update_are_on_the_path(heat: ProjectClient) -> None:
    heat.create("s", DIAMOND)
    replaced = resource_definition(value="b", wait_secs=3, update_replace=True)
    heat.update("s", hot_template({**DIAMOND["resources"], "a": replaced}))
    assert heat.status("s") == "UPDATE_COMPLETE"
    assert_sums_to_wall_time(timeline(heat))


def test_a_breakpoint_is_named_as_the_cause(heat: ProjectClient) -> None:
    hooks = {"resource_registry": {"resources": {"z": {"hooks": ["pre-create"]}}}}
    heat.create("s", DIAMOND, environment=hooks)
    heat.service.clock.advance(50)
    path = f"{heat.path('s')}/resources/z/signal"
    assert heat.send("POST", path, {"unset_hook": "pre-create"}).status_int == 200
    assert heat.status("s") == "CREATE_COMPLETE"
    shown = timeline(heat)
    (held,) = [each for each in by_name(shown)["z"]["segments"] if each["phase"] == "breakpoint"]
    assert held["reason"] == "breakpoint pre-create"
    assert held["seconds"] >= 50
    assert_sums_to_wall_time(shown)


def test_back_pressure_is_named_as_the_cause(heat: ProjectClient) -> None:
    heat.service.use_settings(jobs_in_flight=1)
    heat.create("s", hot_template({
        name: resource_definition(value=name, wait_secs=5) for name in ("a", "b", "c")
    }))  # fmt: skip
    shown = timeline(heat)
    waits = sorted(
        sum(part["seconds"] for part in each["segments"] if part["phase"] == "queue")
        for each in shown["resources"]
    )
    assert waits[0] < 1 < 5 <= waits[1] < 10 <= waits[2]
    assert_sums_to_wall_time(shown)


def test_a_lost_worker_is_named_as_the_cause(
    heat: ProjectClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(TestResource, "local", False)
    heat.create("s", hot_template({"a": resource_definition(value="a")}), hold=True)
    service = heat.service

    def crash(*_arguments: Json) -> None:
        raise SystemExit

    service.engine._finish = crash
    with pytest.raises(SystemExit):
        service.handle_next()
    service.engine, _observer = service.build_daemons()
    settings = service.services.settings
    service.clock.advance(settings.lease_s + settings.repost_after_s)
    service.observer.tick()
    service.run_until_idle()
    assert heat.status("s") == "CREATE_COMPLETE"
    shown = by_name(timeline(heat))["a"]
    assert shown["takeover_count"] == 1
    reasons = [each["reason"] for each in shown["segments"]]
    assert "its worker was lost, and another one took it over" in reasons
    assert_sums_to_wall_time(timeline(heat))


def test_nested_stacks_are_part_of_the_critical_path(heat: ProjectClient) -> None:
    child = hot_template({
        "first": resource_definition(value="a", wait_secs=4),
        "second": reading("first", wait_secs=7),
    })  # fmt: skip
    root = hot_template({"below": {"type": CHILD}, "side": resource_definition(value="s")})
    heat.create("s", root, files={CHILD: json.dumps(child)})
    flat = timeline(heat)
    assert path_of(flat) == ["below"]
    assert_sums_to_wall_time(flat)
    shown = timeline(heat, query="?nested_depth=2")
    assert path_of(shown) == ["below", "below/first", "below/second", "below"]
    assert_sums_to_wall_time(shown)
    assert by_name(shown)["below/second"]["unblocked_by"] == "below/first"


def test_a_running_stack_has_an_estimate_of_the_rest(heat: ProjectClient) -> None:
    heat.create("before", DIAMOND)
    heat.create("s", DIAMOND, hold=True)
    heat.service.handle_pending()
    shown = timeline(heat)
    assert shown["ended_at"] is None
    assert {each["resource_name"] for each in shown["waits_for"]} == set(DIAMOND["resources"])
    # The history's average of the type is 7 s: a chain of three takes about 21 s.
    assert 18 < shown["remaining"]["seconds"] < 24
    assert shown["remaining"]["unknown_count"] == 0
    heat.service.run_until_idle()
    assert timeline(heat)["remaining"] is None


def test_nothing_is_estimated_without_a_history(heat: ProjectClient) -> None:
    heat.create("s", DIAMOND, hold=True)
    remaining = timeline(heat)["remaining"]
    assert (remaining["seconds"], remaining["unknown_count"]) == (None, 5)


def test_a_failed_stack_has_its_failure_at_the_end(heat: ProjectClient) -> None:
    failing = hot_template({
        "a": resource_definition(value="a", wait_secs=2),
        "b": reading("a", fail=True),
    })  # fmt: skip
    heat.create("s", failing)
    shown = timeline(heat)
    assert shown["status"] == "FAILED"
    assert path_of(shown) == ["a", "b"]
    assert_sums_to_wall_time(shown)


def test_the_trace_has_an_event_for_each_phase(heat: ProjectClient) -> None:
    heat.create("s", DIAMOND)
    found = heat.send("GET", f"{heat.path('s')}/timeline?format=chrome")
    events = found.json["traceEvents"]
    names = {each["args"]["name"] for each in events if each["name"] == "thread_name"}
    assert names == set(DIAMOND["resources"])
    complete = [each for each in events if each["ph"] == "X"]
    assert all(each["dur"] > 0 and each["ts"] > 0 for each in complete)
    total = sum(
        part["seconds"]
        for each in timeline(heat)["resources"]
        for part in each["segments"]
        if part["started_at"] >= each["released_at"]
    )
    assert sum(each["dur"] for each in complete) == pytest.approx(total * 1e6)


@pytest.mark.parametrize("query", ["?format=svg", "?version=x", "?limit=-1", "?unknown=1"])
def test_bad_queries_are_refused(heat: ProjectClient, query: str) -> None:
    heat.create("s", DIAMOND, hold=True)
    assert heat.send("GET", f"{heat.path('s')}/timeline{query}").status_int == 400


def test_the_number_of_shown_resources_is_limited(heat: ProjectClient) -> None:
    heat.create("s", DIAMOND)
    shown = timeline(heat, query="?limit=2")
    assert (len(shown["resources"]), shown["resources_total"]) == (2, 5)
    assert path_of(shown) == ["a", "slow", "z"]
