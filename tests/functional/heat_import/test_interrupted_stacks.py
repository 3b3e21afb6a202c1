"""Stacks that Heat was at work on are imported as failed; an update or a delete carries on."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from heat_convergence.heat_import.importer import ImportResult, ImportStatus
from tests.functional.harness import LocalService
from tests.functional.heat_import.heat_source import (
    PROJECT,
    Rows,
    heat_rows,
    import_all,
    rows_of,
    write_heat_database,
)

ENGINE = "4f5b292b-dd29-4146-9dc8-765278fc71e4"
EMPTY_TEMPLATE = {
    "id": 9999,
    "template": {"heat_template_version": "2013-05-23"},
    "environment": {"parameters": {}},
}


@pytest.fixture
def service(tmp_path: Path) -> Any:
    service = LocalService(f"sqlite:///{tmp_path}/hc.sqlite", custom_constraints=None)
    yield service
    service.close()


def import_one(
    service: LocalService, folder: Path, rows: Rows, name: str, **options: Any
) -> ImportResult:
    url = write_heat_database(folder / "heat.sqlite", rows)
    return import_all(service, url, name, **options)[name]


def stack_of(rows: Rows, name: str) -> dict[str, Any]:
    [found] = rows_of(rows, "stack", name=name)
    return found


def rows_in_tree(rows: Rows, name: str, *resources: str) -> list[dict[str, Any]]:
    """Return the rows of resources in the stacks whose names begin with a name."""
    ids = {each["id"] for each in rows["stack"] if each["name"].startswith(name)}
    return [row for row in rows["resource"] if row["stack_id"] in ids and row["name"] in resources]


def path_of(name: str) -> str:
    return f"/stacks/{name}/{stack_of(heat_rows(), name)['id']}"


def get(service: LocalService, path: str) -> Any:
    answer = service.send("GET", path, project=PROJECT, leave_pending=True)
    assert answer.status_int == 200, answer.text
    return answer.json


def status(service: LocalService, name: str) -> tuple[str, str]:
    stack = get(service, path_of(name))["stack"]
    return stack["stack_status"], stack["stack_status_reason"]


def resources(service: LocalService, name: str) -> dict[str, Any]:
    listed = get(service, f"{path_of(name)}/resources?nested_depth=5")["resources"]
    return {each["physical_resource_id"]: each for each in listed}


def update(service: LocalService, name: str) -> None:
    """Update a stack to what it is."""
    answer = service.send("PATCH", path_of(name), {}, project=PROJECT)
    assert answer.status_int == 202, answer.text


def test_creation_in_progress_waits_on_after_an_update(
    service: LocalService, tmp_path: Path
) -> None:
    found = import_one(service, tmp_path, heat_rows(), "wait")

    assert found.status is ImportStatus.IMPORTED
    assert "update or delete it to go on" in found.notes[0]
    assert status(service, "wait") == (
        "CREATE_FAILED",
        "CREATE was in progress in Heat when the stack was imported",
    )
    states = {each["resource_name"]: each["resource_status"]
              for each in resources(service, "wait").values()}  # fmt: skip
    assert states == {"handle": "CREATE_COMPLETE", "wait": "CREATE_IN_PROGRESS"}

    signal = f"{path_of('wait')}/resources/handle/signal"
    body = {"status": "SUCCESS", "reason": "r", "data": "after", "id": "1"}
    assert service.send("POST", signal, body, project=PROJECT).status_int == 200
    update(service, "wait")

    assert status(service, "wait")[0] == "UPDATE_COMPLETE"
    shown = get(service, path_of("wait"))["stack"]["outputs"]
    data = next(each["output_value"] for each in shown if each["output_key"] == "data")
    assert data == '{"1": "after"}'


def test_unrecorded_object_is_named_for_the_operator(
    service: LocalService, tmp_path: Path
) -> None:
    rows = heat_rows()
    [row] = rows_in_tree(rows, "failed", "ok")
    row |= {"status": "IN_PROGRESS", "nova_instance": None, "engine_id": ENGINE}
    found = import_one(service, tmp_path, rows, "failed")
    assert "resource ok may exist as failed-ok-cjicj3bcgcxw" in found.notes[1]


def test_interrupted_update_is_repeated_and_keeps_the_resources(
    service: LocalService, tmp_path: Path
) -> None:
    rows = heat_rows()
    for stack in rows["stack"]:
        if stack["name"].startswith("nested"):
            stack |= {"action": "UPDATE", "status": "IN_PROGRESS"}
    for row in rows_in_tree(rows, "nested", "mid", "group", "0", "r"):
        row |= {"action": "UPDATE", "status": "IN_PROGRESS", "engine_id": ENGINE}
    before = {each["nova_instance"] for each in rows_in_tree(rows, "nested", "mid", "group", "r")}

    import_one(service, tmp_path, rows, "nested")
    assert status(service, "nested")[0] == "UPDATE_FAILED"
    update(service, "nested")

    assert status(service, "nested")[0] == "UPDATE_COMPLETE"
    after = resources(service, "nested")
    assert before <= after.keys()
    assert {each["resource_status"].split("_", 1)[1] for each in after.values()} == {"COMPLETE"}


def test_nested_stack_that_its_resource_has_not_recorded_is_kept(
    service: LocalService, tmp_path: Path
) -> None:
    rows = heat_rows()
    [row] = rows_in_tree(rows, "nested", "mid")
    nested_id = row["nova_instance"]
    row |= {"status": "IN_PROGRESS", "nova_instance": None, "engine_id": ENGINE}
    stack_of(rows, "nested")["status"] = "IN_PROGRESS"
    rows_of(rows, "stack", id=nested_id)[0]["status"] = "IN_PROGRESS"

    import_one(service, tmp_path, rows, "nested")
    before = set(resources(service, "nested"))
    update(service, "nested")

    assert status(service, "nested")[0] == "UPDATE_COMPLETE"
    assert set(resources(service, "nested")) == before
    assert nested_id in before


@pytest.mark.parametrize("state", ["IN_PROGRESS", "FAILED"])
def test_deletion_goes_on_with_the_definitions_of_the_resources(
    service: LocalService, tmp_path: Path, state: str
) -> None:
    rows = heat_rows()
    rows["raw_template"].append(EMPTY_TEMPLATE)
    stack = stack_of(rows, "failed")
    stack |= {"action": "DELETE", "status": state, "raw_template_id": EMPTY_TEMPLATE["id"]}
    [row] = rows_in_tree(rows, "failed", "ok")
    row |= {"action": "DELETE", "status": state}

    import_one(service, tmp_path, rows, "failed")
    assert status(service, "failed")[0] == "DELETE_FAILED"
    assert len(resources(service, "failed")) == 2
    assert service.send("DELETE", path_of("failed"), project=PROJECT).status_int == 204

    answer = service.send("GET", path_of("failed"), project=PROJECT)
    assert answer.json["stack"]["stack_status"] == "DELETE_COMPLETE"


@pytest.mark.parametrize("action", ["SUSPEND", "RESUME", "CHECK", "SNAPSHOT"])
def test_interrupted_action_leaves_the_resources_to_the_next_update(
    service: LocalService, tmp_path: Path, action: str
) -> None:
    rows = heat_rows()
    stack_of(rows, "snap").update(action=action, status="IN_PROGRESS")
    for row in rows_in_tree(rows, "snap", "s"):
        row |= {"action": action, "status": "IN_PROGRESS", "engine_id": ENGINE}
    # Without the volume: this service has no cloud here.
    rows["resource"].remove(rows_in_tree(rows, "snap", "volume")[0])
    [template] = rows_of(rows, "raw_template", id=stack_of(rows, "snap")["raw_template_id"])
    del template["template"]["resources"]["volume"]

    import_one(service, tmp_path, rows, "snap")
    before = set(resources(service, "snap"))
    assert status(service, "snap")[0] == f"{action}_FAILED"
    if action == "SUSPEND":
        body = {"resume": None}
        answer = service.send("POST", f"{path_of('snap')}/actions", body, project=PROJECT)
        assert answer.status_int == 200, answer.text
        assert status(service, "snap")[0] == "RESUME_COMPLETE"
    update(service, "snap")

    assert status(service, "snap")[0] == "UPDATE_COMPLETE"
    assert set(resources(service, "snap")) == before


def test_stack_at_a_hook_stops_there_again(service: LocalService, tmp_path: Path) -> None:
    rows = heat_rows()
    stack = stack_of(rows, "failed")
    stack |= {"action": "UPDATE", "status": "IN_PROGRESS"}
    [row] = rows_in_tree(rows, "failed", "ok")
    hook = {"id": 9999, "resource_id": row["id"], "key": "pre-update"}
    rows["resource_data"].append({**hook, "value": "True", "redact": False})
    [template] = rows_of(rows, "raw_template", id=stack["raw_template_id"])
    template["environment"]["resource_registry"] = {"resources": {"ok": {"hooks": "pre-update"}}}
    template["template"]["resources"]["bad"]["properties"]["fail"] = False

    import_one(service, tmp_path, rows, "failed")
    service.send("PATCH", path_of("failed"), {}, project=PROJECT, leave_pending=True)
    service.run_due_work()

    assert status(service, "failed")[0] == "UPDATE_IN_PROGRESS"
    [event] = [
        each
        for each in get(service, f"{path_of('failed')}/events?limit=200")["events"]
        if "paused until Hook pre-update is cleared" in str(each["resource_status_reason"])
    ]
    assert event["resource_name"] == "ok"


def test_work_of_an_engine_that_is_alive_is_refused(service: LocalService, tmp_path: Path) -> None:
    found = import_one(service, tmp_path, heat_rows(), "wait", engines_alive=True)
    assert found.status is ImportStatus.REFUSED
    assert found.rejection is not None
    assert found.rejection.reason == "stack wait is CREATE_IN_PROGRESS"
    assert "engines stopped" in found.rejection.remedy
