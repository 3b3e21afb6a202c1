"""Trees that cannot be imported are refused alone, with reason and remedy, and write nothing."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest

from heat_convergence.clients.credentials import Credential
from heat_convergence.common.errors import AuthorizationFailure, Error, Invalid
from heat_convergence.common.failures import TemporaryFailure
from heat_convergence.convergence.model.resource import Resource
from heat_convergence.convergence.model.stack import Stack
from heat_convergence.heat_import.cloud_access import CloudAccess, ObservedAttributes
from heat_convergence.heat_import.heat_database import (
    HeatDatabase,
    HeatDatabaseRefused,
    check_revision,
    list_live_engines,
)
from heat_convergence.heat_import.heat_values import HeatCipher, physical_name
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

TABLES = ("stack", "goal", "resource", "event", "stack_credential", "software_config")


@pytest.fixture
def service(tmp_path: Path) -> Iterator[LocalService]:
    service = LocalService(f"sqlite:///{tmp_path}/hc.sqlite")
    yield service
    service.close()


def count_rows(service: LocalService) -> dict[str, int]:
    with service.database.read() as conn:
        return {
            table: int(conn.exec_driver_sql(f"SELECT count(*) FROM {table}").scalar())
            for table in TABLES
        }


def import_rows(
    service: LocalService, tmp_path: Path, rows: Rows, *stacks: str
) -> dict[str, ImportResult]:
    return import_all(service, write_heat_database(tmp_path / "heat.sqlite", rows), *stacks)


def reason(result: ImportResult) -> str:
    assert result.status is ImportStatus.REFUSED
    assert result.rejection is not None
    assert result.rejection.remedy
    return result.rejection.reason


def resource_of(rows: Rows, name: str) -> dict[str, Any]:
    [found] = rows_of(rows, "resource", name=name)
    return found


def test_stack_in_progress_is_refused_alone_while_engines_live(
    service: LocalService, tmp_path: Path
) -> None:
    url = write_heat_database(tmp_path / "heat.sqlite")
    found = import_all(service, url, engines_alive=True)
    assert reason(found["wait"]) == "stack wait is CREATE_IN_PROGRESS"
    assert sum(each.status is ImportStatus.IMPORTED for each in found.values()) == 6


def test_work_on_a_failed_stack_is_refused_while_engines_live(
    service: LocalService, tmp_path: Path
) -> None:
    rows = heat_rows()
    resource_of(rows, "bad")["engine_id"] = "4f5b292b-dd29-4146-9dc8-765278fc71e4"
    url = write_heat_database(tmp_path / "heat.sqlite", rows)
    assert "is being worked on" in reason(import_all(service, url, engines_alive=True)["failed"])


def test_wrong_encryption_key_is_named_and_nothing_is_written(
    service: LocalService, tmp_path: Path
) -> None:
    url = write_heat_database(tmp_path / "heat.sqlite")
    found = import_all(service, url, "base", key="another key of sixteen characters"[:32])
    assert "the key is another one" in reason(found["base"])
    assert set(count_rows(service).values()) == {0}


def test_key_of_wrong_length_is_refused_without_showing_it() -> None:
    with pytest.raises(Invalid) as caught:
        HeatCipher("too short a key")
    assert "too short a key" not in str(caught.value)
    assert "sixteen" not in repr(HeatCipher("sixteen letters!"))


@pytest.mark.parametrize("revision", [None, "0123456789ab"])
def test_database_of_unknown_or_older_revision_is_refused(
    tmp_path: Path, revision: str | None
) -> None:
    url = write_heat_database(tmp_path / "heat.sqlite", {}, revision=revision)
    with HeatDatabase(url).snapshot() as conn, pytest.raises(HeatDatabaseRefused):
        check_revision(conn)


def test_known_revision_is_accepted_and_database_is_read_only(tmp_path: Path) -> None:
    url = write_heat_database(tmp_path / "heat.sqlite")
    with HeatDatabase(url).snapshot() as conn:
        assert check_revision(conn) == "97b2a986f922"
        with pytest.raises(Exception, match="readonly"):
            conn.exec_driver_sql("DELETE FROM stack")


def test_engine_is_alive_for_twice_its_interval(tmp_path: Path) -> None:
    url = write_heat_database(tmp_path / "heat.sqlite")
    last = max(row["updated_at"] for row in heat_rows()["service"])
    reported = datetime.fromisoformat(last).replace(tzinfo=UTC)
    with HeatDatabase(url).snapshot() as conn:
        assert list_live_engines(conn, reported.replace(microsecond=1)) == ["vm"]
        assert list_live_engines(conn, reported.replace(year=reported.year + 1)) == []


@pytest.mark.parametrize(
    ("table", "column", "expected"),
    [
        ("raw_template", "template", "no valid JSON"),
        ("raw_template", "environment", "no valid JSON"),
        ("resource", "rsrc_metadata", "no valid JSON"),
    ],
)
def test_damaged_text_is_named(
    service: LocalService, tmp_path: Path, table: str, column: str, expected: str
) -> None:
    rows = heat_rows()
    [stack] = rows_of(rows, "stack", name="failed")
    row = (
        resource_of(rows, "ok")
        if table == "resource"
        else rows_of(rows, table, id=stack["raw_template_id"])[0]
    )
    row[column] = "{damaged"
    assert expected in reason(import_rows(service, tmp_path, rows, "failed")["failed"])
    assert count_rows(service)["stack"] == 0


def test_missing_template_is_named(service: LocalService, tmp_path: Path) -> None:
    rows = heat_rows()
    [stack] = rows_of(rows, "stack", name="failed")
    rows["raw_template"] = [
        row for row in rows["raw_template"] if row["id"] != stack["raw_template_id"]
    ]
    assert "no template" in reason(import_rows(service, tmp_path, rows, "failed")["failed"])


def test_two_rows_of_one_name_are_refused(service: LocalService, tmp_path: Path) -> None:
    rows = heat_rows()
    twin = {**resource_of(rows, "ok"), "id": 9999, "uuid": "8aeb48ae-ab1e-48c8-af72-5e0f1902d4ca"}
    rows["resource"].append(twin)
    assert "several resources ok" in reason(import_rows(service, tmp_path, rows)["failed"])


def test_nested_stack_without_its_resource_is_refused(
    service: LocalService, tmp_path: Path
) -> None:
    rows = heat_rows()
    resource_of(rows, "mid")["nova_instance"] = "another"
    assert "belongs to no resource" in reason(import_rows(service, tmp_path, rows)["nested"])


def test_backup_stack_is_refused(service: LocalService, tmp_path: Path) -> None:
    rows = heat_rows()
    [stack] = rows_of(rows, "stack", name="snap")
    rows["stack"].append({**stack, "id": "b" * 36, "owner_id": stack["id"], "backup": True})
    assert "backup stack" in reason(import_rows(service, tmp_path, rows)["snap"])


def test_unknown_resource_type_is_named(service: LocalService, tmp_path: Path) -> None:
    rows = heat_rows()
    [stack] = rows_of(rows, "stack", name="failed")
    [template] = rows_of(rows, "raw_template", id=stack["raw_template_id"])
    template["template"]["resources"]["ok"]["type"] = "OS::Plugin::Unknown"
    assert "OS::Plugin::Unknown" in reason(import_rows(service, tmp_path, rows)["failed"])


def test_name_of_another_stack_is_refused(service: LocalService, tmp_path: Path) -> None:
    body = {"stack_name": "failed", "template": {"heat_template_version": "2018-08-31"}}
    assert service.send("POST", "/stacks", body, project=PROJECT).status_int == 201
    before = count_rows(service)
    found = import_rows(service, tmp_path, heat_rows(), "failed")
    assert "has the name" in reason(found["failed"])
    assert count_rows(service) == before


def test_id_of_an_existing_resource_is_refused(service: LocalService, tmp_path: Path) -> None:
    import_rows(service, tmp_path, heat_rows(), "failed")
    rows = heat_rows()
    resource_of(rows, "pw")["uuid"] = resource_of(rows, "ok")["uuid"]
    url = write_heat_database(tmp_path / "second.sqlite", rows)
    assert "exist already" in reason(import_all(service, url, "base")["base"])


class RefusingKeystone(CloudAccess):
    """Access to a cloud that refuses the trust of one tree."""

    refused = ""
    error = AuthorizationFailure("Could not find trust")

    def log_in(self, tree_id: str, credential: Credential) -> None:
        """Refuse one credential."""
        assert credential.secret["trust_id"]
        if tree_id == self.refused:
            raise self.error

    def heat_url(self, tree_id: str) -> str | None:
        """Return no address."""
        return None

    def waitcondition_url(self, tree_id: str) -> str | None:
        """Return no address."""
        return None

    def observe(self, stack: Stack, rows: Sequence[Resource]) -> ObservedAttributes:
        """Return nothing."""
        return {}


@pytest.mark.parametrize(
    "error",
    [
        AuthorizationFailure("Could not find trust"),
        AuthorizationFailure("Could not find project"),
    ],
)
def test_dead_trust_or_project_refuses_its_stack_alone(
    service: LocalService, tmp_path: Path, error: Error
) -> None:
    [stack] = rows_of(heat_rows(), "stack", name="failed")
    cloud = RefusingKeystone(Mock(), Mock(), service.services)
    cloud.refused, cloud.error = stack["id"], error
    found = import_all(service, write_heat_database(tmp_path / "heat.sqlite"), cloud=cloud)
    assert error.message in reason(found["failed"])
    assert "an update of the stack in Heat by its owner" in found["failed"].rejection.remedy
    assert sum(each.status is ImportStatus.IMPORTED for each in found.values()) == 6
    assert rows_with_id(service, stack["id"]) == 0


def test_keystone_that_does_not_answer_ends_the_command_and_not_the_stack(
    service: LocalService, tmp_path: Path
) -> None:
    [stack] = rows_of(heat_rows(), "stack", name="failed")
    cloud = RefusingKeystone(Mock(), Mock(), service.services)
    cloud.refused, cloud.error = stack["id"], TemporaryFailure("no answer")
    url = write_heat_database(tmp_path / "heat.sqlite")
    with pytest.raises(TemporaryFailure):
        import_all(service, url, cloud=cloud)
    found = import_all(service, url)
    assert found["failed"].status is ImportStatus.IMPORTED


def rows_with_id(service: LocalService, stack_id: str) -> int:
    with service.database.read() as conn:
        query = f"SELECT count(*) FROM stack WHERE id = '{stack_id}' OR root_id = '{stack_id}'"
        return int(conn.exec_driver_sql(query).scalar())


def test_second_run_imports_nothing_twice(service: LocalService, tmp_path: Path) -> None:
    url = write_heat_database(tmp_path / "heat.sqlite")
    import_all(service, url)
    before = count_rows(service)
    found = import_all(service, url)
    assert {n for n, r in found.items() if r.status is ImportStatus.PRESENT} == {
        "nested", "asg", "failed", "signalled", "snap", "base", "wait"
    }  # fmt: skip
    assert count_rows(service) == before


def test_dry_run_writes_nothing(service: LocalService, tmp_path: Path) -> None:
    found = import_all(service, write_heat_database(tmp_path / "heat.sqlite"), dry_run=True)
    assert found["base"].resource_count == 17
    assert set(count_rows(service).values()) == {0}


def test_physical_name_has_bits_of_the_identifier() -> None:
    found = physical_name("a*", "b", "8aeb48ae-ab1e-48c8-af72-5e0f1902d4ca")
    assert found == "a-b-rsfld2fowsfo"
