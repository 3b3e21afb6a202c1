"""Imported snapshots are shown, restored and deleted as those of this service."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest
import sqlalchemy as sa

from heat_convergence.convergence.model.action import Action
from heat_convergence.db.repositories.resources import SqlResourceRepository
from heat_convergence.db.repositories.stacks import SqlStackRepository
from heat_convergence.heat_import.cloud_access import CloudAccess
from heat_convergence.heat_import.importer import ImportResult, ImportStatus
from heat_convergence.resources.protocol.verb_values import ResourceContext, VerbResult
from tests.functional.harness import LocalService
from tests.functional.heat_import.heat_source import (
    BACKUP,
    PROJECT,
    Rows,
    entry,
    heat_rows,
    import_all,
    rows_of,
    rows_with_snapshot,
    write_heat_database,
)

OLD_RELEASE = "c6214ca60943"  # pragma: allowlist secret


@pytest.fixture
def service(tmp_path: Path) -> Any:
    service = LocalService(f"sqlite:///{tmp_path}/hc.sqlite", custom_constraints=None)
    yield service
    service.close()


def import_snap(service: LocalService, folder: Path, rows: Rows, **source: Any) -> ImportResult:
    return import_all(
        service, write_heat_database(folder / "heat.sqlite", rows, **source), "snap"
    )["snap"]


def path_of_snapshot() -> str:
    [saved] = heat_rows()["snapshot"]
    return f"/stacks/snap/{saved['stack_id']}/snapshots/{saved['id']}"


def get_snapshot(service: LocalService) -> dict[str, Any]:
    answer = service.send("GET", path_of_snapshot(), project=PROJECT)
    assert answer.status_int == 200, answer.text
    found: dict[str, Any] = answer.json["snapshot"]
    return found


def restored_template(service: LocalService) -> Any:
    """Restore, and return the template that the stack is updated to."""
    path = path_of_snapshot()
    answer = service.send("POST", f"{path}/restore", project=PROJECT, leave_pending=True)
    assert answer.status_int == 202, answer.text
    stack = path.rpartition("/snapshots")[0]
    return service.send("GET", f"{stack}/template", project=PROJECT, leave_pending=True).json


def test_snapshot_keeps_identity_and_is_restored_from_its_backup(
    service: LocalService, tmp_path: Path
) -> None:
    import_snap(service, tmp_path, rows_with_snapshot())
    found, [row] = get_snapshot(service), heat_rows()["snapshot"]

    assert (found["name"], found["action"], found["status"]) == ("sn", "CREATE", "COMPLETE")
    assert found["creation_time"] == row["created_at"] + "Z"
    assert found["data"]["resources"]["volume"]["resource_id"] == "id-of-volume"
    restored = restored_template(service)["resources"]["volume"]["properties"]
    assert restored == {"size": 1, "backup_id": "backup-of-volume"}


def test_snapshot_of_earlier_releases_has_its_resources_in_one_document(
    service: LocalService, tmp_path: Path
) -> None:
    rows = heat_rows()
    [saved] = rows["snapshot"]
    nested = {"name": "n", "id": "n1", "template": {}, "environment": {}, "files": {},
              "resources": {"disk": entry("disk", "OS::Cinder::Volume", BACKUP)}}  # fmt: skip
    volume = entry("volume", "OS::Cinder::Volume", BACKUP)
    saved["data"]["resources"] = {"volume": volume, "group": nested}
    url = write_heat_database(tmp_path / "heat.sqlite", rows, revision=OLD_RELEASE)
    engine = sa.create_engine(url)
    with engine.begin() as conn:  # as that revision has them
        conn.exec_driver_sql("DROP TABLE resource_snapshot")
        conn.exec_driver_sql("ALTER TABLE snapshot DROP COLUMN action")
    engine.dispose()

    import_all(service, url, "snap")

    assert get_snapshot(service)["data"]["resources"]["group"]["resources"].keys() == {"disk"}
    restored = restored_template(service)["resources"]["volume"]["properties"]
    assert restored["backup_id"] == "backup-of-volume"


def test_hidden_parameter_of_a_snapshot_is_masked_and_encrypted_at_rest(
    service: LocalService, tmp_path: Path
) -> None:
    rows = rows_with_snapshot()
    data = rows["snapshot"][0]["data"]
    data["template"]["parameters"] = {"word": {"type": "string", "hidden": True}}
    data["environment"]["parameters"] = {"word": "hidden word"}

    import_snap(service, tmp_path, rows)

    assert "hidden word" not in json.dumps(get_snapshot(service))
    with service.database.read() as conn:
        texts = [str(row) for table in ("goal", "snapshot", "content")
                 for row in conn.exec_driver_sql(f"SELECT * FROM {table}")]  # fmt: skip
    assert not any("hidden word" in text for text in texts)
    stack = path_of_snapshot().rpartition("/snapshots")[0]
    restored_template(service)
    shown = service.send("GET", f"{stack}/environment", project=PROJECT, leave_pending=True).json
    assert shown["parameters"]["word"] == "******"


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({"action": "DELETE", "status": "IN_PROGRESS"}, ("DELETE", "FAILED")),
        ({"action": "CREATE", "status": "IN_PROGRESS"}, ("CREATE", "FAILED")),
        ({"action": None, "status": "COMPLETE"}, ("CREATE", "COMPLETE")),
    ],
)
def test_interrupted_snapshot_is_failed(
    service: LocalService, tmp_path: Path, change: dict[str, Any], expected: tuple[str, str]
) -> None:
    rows = rows_with_snapshot()
    rows["snapshot"][0] |= change
    import_snap(service, tmp_path, rows)
    found = get_snapshot(service)
    assert (found["action"], found["status"]) == expected


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({"data": "{damaged"}, "no valid JSON"),
        ({"status": "ODD"}, "its status is ODD"),
        ({"data": {"template": {"heat_template_version": "1999-01-01"}}}, "1999-01-01"),
        ({"data": {"template": []}}, "template in the data"),
    ],
)
def test_unreadable_snapshot_is_left_out_with_a_note(
    service: LocalService, tmp_path: Path, change: dict[str, Any], expected: str
) -> None:
    rows = rows_with_snapshot()
    rows["snapshot"][0] |= change
    found = import_snap(service, tmp_path, rows)

    assert found.status is ImportStatus.IMPORTED
    assert expected in found.notes[0]
    assert "keep Heat's database" in found.notes[0]
    assert service.send("GET", path_of_snapshot(), project=PROJECT).status_int == 404


def test_snapshot_id_that_exists_refuses_the_stack(service: LocalService, tmp_path: Path) -> None:
    import_snap(service, tmp_path, rows_with_snapshot())
    rows = rows_with_snapshot()
    [failed] = rows_of(rows, "stack", name="failed")
    rows["snapshot"][0]["stack_id"] = failed["id"]
    url = write_heat_database(tmp_path / "second.sqlite", rows)
    found = import_all(service, url, "failed")["failed"]
    assert found.rejection is not None
    assert rows["snapshot"][0]["id"] in found.rejection.reason


def test_resource_is_observed_and_not_its_snapshot(service: LocalService, tmp_path: Path) -> None:
    """During a snapshot types read the backup: the import reads attributes of the volume."""
    actions: dict[str, Action] = {}

    class RecordingType(Mock):
        service, has_nested_stack, physical_name_limit = "cinder", False, 255

        def observe_many(self, contexts: Sequence[ResourceContext]) -> dict[str, VerbResult]:
            actions.update({each.name: each.action for each in contexts})
            return {}

    import_snap(service, tmp_path, rows_with_snapshot())
    with service.database.read() as conn:
        stack_id = path_of_snapshot().split("/")[3]
        rows = SqlResourceRepository(conn).get_by_stack(stack_id)
        stack = SqlStackRepository(conn).get(stack_id)
    assert stack is not None
    assert {row.state.action for row in rows} == {Action.SNAPSHOT}
    registry = Mock(
        find=Mock(return_value=RecordingType()), get=Mock(return_value=RecordingType())
    )
    services = Mock(registry=registry, clock=service.clock)
    CloudAccess(Mock(), Mock(), services, _credentials={stack_id: Mock()}).observe(stack, rows)
    assert set(actions.values()) == {Action.CHECK}
