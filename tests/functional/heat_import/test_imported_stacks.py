"""Imported stacks look as they did in Heat, and go on from there."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from heat_convergence.heat_import.imported_attributes import ServiceAddress
from heat_convergence.heat_import.importer import ImportStatus
from tests.functional.harness import LocalService
from tests.functional.heat_import.heat_source import (
    PROJECT,
    heat_rows,
    import_all,
    rows_of,
    write_heat_database,
)

AT_REST = {"nested", "asg", "failed", "signalled", "snap", "base"}


@pytest.fixture(scope="module")
def imported(tmp_path_factory: pytest.TempPathFactory) -> Any:
    folder = tmp_path_factory.mktemp("import")
    service = LocalService(f"sqlite:///{folder}/hc.sqlite", custom_constraints=None)
    url = write_heat_database(folder / "heat.sqlite")
    address = ServiceAddress(waitcondition_url="http://heat:8000/v1/waitcondition")
    results = import_all(service, url, address=address)
    assert {n for n, r in results.items() if r.status is ImportStatus.IMPORTED} == {
        *AT_REST,
        "wait",
    }
    yield service
    service.close()


def get(service: LocalService, path: str) -> Any:
    answer = service.send("GET", path, project=PROJECT)
    assert answer.status_int == 200, answer.text
    return answer.json


def show(service: LocalService, name: str) -> Any:
    [row] = rows_of(heat_rows(), "stack", name=name)
    return get(service, f"/stacks/{name}/{row['id']}")["stack"]


def outputs(service: LocalService, name: str) -> dict[str, Any]:
    return {each["output_key"]: each["output_value"] for each in show(service, name)["outputs"]}


def update(service: LocalService, name: str, **changes: Any) -> int:
    """Update a stack to what it is, apart from the changes; return the number of jobs."""
    stack = f"/stacks/{name}/{show(service, name)['id']}"
    body = {part: get(service, f"{stack}/{part}") for part in ("template", "environment", "files")}
    shown = body["environment"]["parameters"]
    body["environment"]["parameters"] = {k: v for k, v in shown.items() if v != "******"}
    before = service.bus.posted_job_count
    answer = service.send("PATCH", stack, {**body, **changes}, project=PROJECT)
    assert answer.status_int == 202, answer.text
    return service.bus.posted_job_count - before


@pytest.mark.parametrize("name", sorted(AT_REST))
def test_stack_keeps_identity_state_and_times(imported: LocalService, name: str) -> None:
    [row] = rows_of(heat_rows(), "stack", name=name)
    found = show(imported, name)

    assert found["id"] == row["id"]
    assert found["stack_status"] == f"{row['action']}_{row['status']}"
    assert found["stack_status_reason"] == row["status_reason"]
    assert found["creation_time"] == row["created_at"] + "Z"
    assert found["stack_owner"] == row["username"]
    assert found["timeout_mins"] == row["timeout"]


@pytest.mark.parametrize("name", sorted(AT_REST))
def test_resources_keep_ids_and_states_at_every_depth(imported: LocalService, name: str) -> None:
    rows = heat_rows()
    stack = show(imported, name)
    listed = get(imported, f"/stacks/{name}/{stack['id']}/resources?nested_depth=5")["resources"]
    stack_ids = {stack["id"]} | {each["id"] for each in _descendants(rows, stack["id"])}
    expected = [row for row in rows["resource"] if row["stack_id"] in stack_ids]

    assert len(listed) == len(expected)
    states = {(row["resource_name"], row["resource_status"]) for row in listed}
    assert states == {(row["name"], f"{row['action']}_{row['status']}") for row in expected}
    kept = {row["nova_instance"] for row in expected if row.get("nova_instance")}
    assert kept <= {row["physical_resource_id"] for row in listed}


def _descendants(rows: Any, owner: str) -> list[dict[str, Any]]:
    found = rows_of(rows, "stack", owner_id=owner)
    return found + [each for child in found for each in _descendants(rows, child["id"])]


def test_template_parameters_tags_and_files_are_there(imported: LocalService) -> None:
    stack = show(imported, "nested")
    path = f"/stacks/nested/{stack['id']}"

    assert stack["tags"] == ["one", "two"]
    assert set(get(imported, f"{path}/files")) == {"mid.yaml", "leaf.yaml"}
    assert get(imported, f"{path}/environment")["resource_registry"]["Our::Mid"] == "mid.yaml"
    assert get(imported, f"{path}/template")["resources"].keys() == {"mid", "port_value"}


def test_outputs_come_from_recorded_values_and_nested_stacks(imported: LocalService) -> None:
    assert outputs(imported, "nested")["values"] == ["hello", "hello"]
    assert len(outputs(imported, "asg")["refs"]) == 3
    assert outputs(imported, "asg")["size"] == 3
    base = outputs(imported, "base")
    assert base["fip"].startswith("172.24.")
    assert base["v"] == base["port_ip"]
    assert base["url"].startswith("http://127.0.0.1:8100/v1/waitcondition/arn")
    assert outputs(imported, "signalled")["data"] == '{"1": "first"}'


def test_signed_url_of_a_policy_is_computed_with_its_recorded_keys(imported: LocalService) -> None:
    url = outputs(imported, "asg")["url"]
    assert url.startswith(f"http://heat:8000/v1/signal/arn%3Aopenstack%3Aheat%3A%3A{PROJECT}")
    assert "AWSAccessKeyId=access_key+of+up" in url


def test_hidden_parameter_is_masked_and_encrypted_at_rest(
    imported: LocalService, tmp_path: Path
) -> None:
    assert show(imported, "base")["parameters"]["secret"] == "******"
    with imported.database.read() as conn:
        texts = [str(row) for row in conn.exec_driver_sql("SELECT * FROM goal")]
        texts += [str(row) for row in conn.exec_driver_sql("SELECT * FROM resource")]
    assert not any("s3cret value" in text for text in texts)


@pytest.mark.parametrize("name", ["nested", "asg", "signalled", "snap", "base"])
def test_update_without_change_posts_no_job(imported: LocalService, name: str) -> None:
    assert update(imported, name) == 0
    assert show(imported, name)["stack_status"] == "UPDATE_COMPLETE"


def test_events_keep_their_order(imported: LocalService) -> None:
    stack = show(imported, "failed")
    found = get(imported, f"/stacks/failed/{stack['id']}/events?sort_dir=asc&limit=100")["events"]
    expected = [row for row in heat_rows()["event"] if row["stack_id"] == stack["id"]]
    assert [each["resource_status_reason"] for each in found] == [
        row["resource_status_reason"] for row in expected
    ]


@pytest.fixture
def service(tmp_path: Path) -> Any:
    service = LocalService(f"sqlite:///{tmp_path}/hc.sqlite")
    import_all(service, write_heat_database(tmp_path / "heat.sqlite"))
    yield service
    service.close()


def test_changed_parameter_reaches_the_leaves_and_keeps_the_other_resources(
    service: LocalService,
) -> None:
    stack = show(service, "nested")
    path = f"/stacks/nested/{stack['id']}/resources?nested_depth=5"
    before = {each["physical_resource_id"]: each for each in get(service, path)["resources"]}

    assert update(service, "nested", parameters={"text": "changed"}) > 0

    assert outputs(service, "nested")["values"] == ["changed", "changed"]
    after = {each["physical_resource_id"]: each for each in get(service, path)["resources"]}
    assert after.keys() == before.keys()
    strings = [each for each in after.values() if each["resource_name"] == "r"]
    assert [each["resource_status"] for each in strings] == ["CREATE_COMPLETE"] * 2
    assert all(each["updated_time"] == before[each["physical_resource_id"]]["updated_time"]
               for each in strings)  # fmt: skip


def test_failed_stack_goes_on_with_the_next_update(service: LocalService) -> None:
    stack = show(service, "failed")
    template = get(service, f"/stacks/failed/{stack['id']}/template")
    template["resources"]["bad"]["properties"]["fail"] = False

    update(service, "failed", template=template)

    assert show(service, "failed")["stack_status"] == "UPDATE_COMPLETE"
    found = get(service, f"/stacks/failed/{stack['id']}/resources")["resources"]
    by_name = {each["resource_name"]: each for each in found}
    assert {each["resource_status"] for each in found} == {"CREATE_COMPLETE"}
    assert by_name["ok"]["physical_resource_id"] == "failed-ok-cjicj3bcgcxw"


def test_group_scales_after_its_recorded_cooldown(service: LocalService) -> None:
    stack = show(service, "asg")
    signal = f"/stacks/asg/{stack['id']}/resources/up/signal"
    service.clock.advance(400 * 86_400)
    names = set(outputs(service, "asg")["refs"])

    assert service.send("POST", signal, {}, project=PROJECT).status_int == 200

    after = outputs(service, "asg")
    assert after["size"] == 4
    assert names < set(after["refs"])


def test_group_does_not_scale_during_its_recorded_cooldown(service: LocalService) -> None:
    stack = show(service, "asg")
    service.send("POST", f"/stacks/asg/{stack['id']}/resources/up/signal", {}, project=PROJECT)
    assert outputs(service, "asg")["size"] == 3


@pytest.mark.parametrize("name", ["nested", "asg", "failed", "signalled"])
def test_delete_leaves_nothing(service: LocalService, name: str) -> None:
    stack = show(service, name)
    answer = service.send("DELETE", f"/stacks/{name}/{stack['id']}", project=PROJECT)
    assert answer.status_int == 204
    with service.database.read() as conn:
        left = conn.exec_driver_sql(
            "SELECT count(*) FROM resource r JOIN stack s ON r.stack_id = s.id"
            f" WHERE s.id = '{stack['id']}' OR s.root_id = '{stack['id']}'"
        ).scalar()
    assert left == 0
