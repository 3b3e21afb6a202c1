"""The import with a Keystone: trusts are used on, and users' projects get their new names."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from heat_convergence.cli.manage import main
from heat_convergence.db.connection.database import database_from_url
from heat_convergence.db.maintenance import schema_upgrade
from tests.functional.clients.fake_keystone import SERVICE_PASSWORD, SERVICE_USER, FakeKeystone
from tests.functional.harness import LocalService
from tests.functional.heat_import.heat_source import (
    HEAT_KEY,
    PROJECT,
    heat_rows,
    rows_of,
    write_heat_database,
)

CFN = "http://heat:8000/v1"
SERVICE = f"""[DEFAULT]
auth_encryption_key = {LocalService.encryption_key}
stack_user_domain_id = heat-domain
stack_domain_admin = domain_admin
stack_domain_admin_password = admin-password
[database]
connection = sqlite:///%(folder)s/hc.sqlite
[keystone_authtoken]
auth_type = password
auth_url = %(keystone)s
username = {SERVICE_USER}
password = {SERVICE_PASSWORD}
user_domain_id = default
project_name = service
project_domain_id = default
"""
ImportHeat = Callable[..., int]


@pytest.fixture
def keystone() -> Iterator[FakeKeystone]:
    """Yield a Keystone with the trusts and projects of Heat's stacks."""
    keystone, rows = FakeKeystone(), heat_rows()
    for row in rows["user_creds"]:
        trust_id = row["trust_id"]["$encrypted"]
        users = {"trustor_user_id": row["trustor_user_id"], "trustee_user_id": "heat-id"}
        keystone.trusts[trust_id] = {"id": trust_id, "project_id": PROJECT, **users}
    for row in rows_of(rows, "stack", owner_id=None):
        project_id = row["stack_user_project_id"]
        keystone.projects[project_id] = {"id": project_id, "name": f"{row['name']}-users"}
    keystone.catalog.append(("cloudformation", "R", CFN))
    yield keystone
    keystone.close()


@pytest.fixture
def run_import(tmp_path: Path, keystone: FakeKeystone) -> ImportHeat:
    database = database_from_url(f"sqlite:///{tmp_path}/hc.sqlite")
    schema_upgrade.upgrade(database)
    database.close()
    config = tmp_path / "hc.conf"
    config.write_text(SERVICE % {"folder": tmp_path, "keystone": keystone.url})
    source = ["--database", write_heat_database(tmp_path / "heat.sqlite")]
    source += ["--encryption-key", HEAT_KEY, "--cached-attributes"]
    return lambda *more: main.main(["--config-file", str(config), "import-heat", *source, *more])


def root_row(name: str) -> dict[str, Any]:
    [found] = rows_of(heat_rows(), "stack", name=name)
    return found


def test_projects_of_users_are_renamed_and_nothing_else_is_changed(
    run_import: ImportHeat, keystone: FakeKeystone
) -> None:
    assert run_import("--dry-run") == 0
    assert {method for method, path in keystone.requests if "auth" not in path} <= {"GET"}
    assert run_import() == 0
    for row in rows_of(heat_rows(), "stack", owner_id=None):
        assert row["id"] in keystone.projects[row["stack_user_project_id"]]["name"]
    changes = [each for each in keystone.requests if each[0] not in ("GET", "POST")]
    assert {method for method, _path in changes} == {"PATCH"}
    posted = {path for method, path in keystone.requests if method == "POST"}
    assert posted == {"/v3/auth/tokens"}
    keystone.requests.clear()
    assert run_import() == 0
    assert "PATCH" not in {method for method, _path in keystone.requests}


def test_dead_trust_refuses_its_stack_alone(
    run_import: ImportHeat, keystone: FakeKeystone, capsys: pytest.CaptureFixture[str]
) -> None:
    """Keystone deletes the trusts of a project with it."""
    [row] = rows_of(heat_rows(), "user_creds", id=root_row("failed")["user_creds_id"])
    del keystone.trusts[row["trust_id"]["$encrypted"]]
    assert run_import() == 1
    printed = capsys.readouterr().out
    assert (
        f"refused: failed ({root_row('failed')['id']}), project {PROJECT}: the owner's" in printed
    )
    assert "6 stacks with " in printed
    name = keystone.projects[root_row("failed")["stack_user_project_id"]]["name"]
    assert name == "failed-users"


def test_project_that_cannot_be_renamed_is_named_and_renamed_by_the_next_run(
    run_import: ImportHeat, keystone: FakeKeystone, capsys: pytest.CaptureFixture[str]
) -> None:
    project_id = root_row("asg")["stack_user_project_id"]
    project = keystone.projects.pop(project_id)
    assert run_import() == 1
    assert "users not taken over: " in capsys.readouterr().out
    keystone.projects[project_id] = project
    assert run_import() == 0
    assert root_row("asg")["id"] in project["name"]


def test_signed_urls_have_the_address_of_the_catalog_without_an_option(
    run_import: ImportHeat, tmp_path: Path
) -> None:
    assert run_import("--stack", "asg") == 0
    service = LocalService(f"sqlite:///{tmp_path}/hc.sqlite", custom_constraints=None)
    path = f"/stacks/asg/{root_row('asg')['id']}/outputs/url"
    shown = service.send("GET", path, project=PROJECT).json["output"]["output_value"]
    service.close()
    assert str(shown).startswith(f"{CFN}/signal/arn%3Aopenstack%3Aheat%3A%3A{PROJECT}")
