"""Stacks of an earlier release exist after the upgrade, and can be used.

For every revision, on every database: its schema, its rows, the upgrade, and then this
release's service.
"""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from alembic.script import ScriptDirectory

from heat_convergence.db.connection.database import Database
from heat_convergence.db.maintenance import schema_revisions, schema_upgrade
from tests.functional.fake_server import get_body, get_outputs
from tests.functional.harness import LocalService
from tests.migration import release_rows

REVISIONS = [
    script.revision
    for script in ScriptDirectory(str(schema_upgrade.get_scripts_directory())).walk_revisions()
]
NEXT = '''
"""A later revision."""
import sqlalchemy as sa
from alembic import op
revision, down_revision, branch_labels, depends_on = "9999", "{head}", None, None
def upgrade():
    {body}
'''


@pytest.mark.parametrize("revision", REVISIONS)
def test_stacks_of_earlier_release_survive_upgrade(
    url: str, database: Database, revision: str
) -> None:
    schema_upgrade.upgrade(database, revision)
    rows = release_rows.load_rows_of_revision(revision)
    release_rows.insert_rows(database.engine, rows)
    schema_upgrade.upgrade(database)
    assert schema_upgrade.find_schema_differences(database) == []
    assert _lost(rows, database) == {}

    service = LocalService(url)
    stacks = {each["stack_name"]: each for each in service.send("GET", "/stacks").json["stacks"]}
    assert {name: each["stack_status"] for name, each in stacks.items()} == {
        "tree": "SNAPSHOT_COMPLETE", "broken": "CREATE_FAILED"}  # fmt: skip
    path = f"/stacks/tree/{stacks['tree']['id']}"
    before = get_outputs(service, path)
    assert before["words"] == ["andere", "andere"]
    assert len(before["sign"]) == 32
    (saved,) = get_body(service, f"{path}/snapshots")
    assert service.send("POST", f"{path}/snapshots/{saved['id']}/restore").status_int == 202
    assert get_body(service, path)["stack_status"] == "RESTORE_COMPLETE"
    assert get_outputs(service, path)["sign"] == before["sign"]
    answer = service.send("PATCH", path, {"parameters": {"word": "neu"}})
    assert answer.status_int == 202, answer.text
    assert get_outputs(service, path)["words"] == ["neu", "neu"]
    (config,) = service.send("GET", "/software_configs").json["software_configs"]
    assert get_body(service, f"/software_configs/{config['id']}")["config"] == "echo"
    for each in stacks.values():
        there = f"/stacks/{each['stack_name']}/{each['id']}"
        assert service.send("DELETE", there).status_int == 204
        assert get_body(service, there)["stack_status"] == "DELETE_COMPLETE"
    service.close()


def _lost(before: release_rows.Rows, database: Database) -> dict[str, int]:
    """Return how many rows fewer each table has, by table."""
    now = release_rows.read_all_rows(database.engine)
    fewer = {name: len(rows) - len(now.get(name, ())) for name, rows in before.items()}
    return {name: count for name, count in fewer.items() if count > 0}


@pytest.mark.parametrize(
    ("body", "lost"),
    [
        ('op.add_column("stack", sa.Column("extra", sa.Integer, server_default="7",'
         " nullable=False))", {}),
        ('op.drop_table("software_deployment")', {"software_deployment": 1}),
    ],
)  # fmt: skip
def test_row_loss_in_migration_is_detected(
    database: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, body: str,
    lost: dict[str, int],
) -> None:  # fmt: skip
    """Migrations of this test show that the test above detects a loss."""
    schema_upgrade.upgrade(database)
    rows = release_rows.create_rows_of_this_release()
    release_rows.insert_rows(database.engine, rows)
    scripts = tmp_path / "scripts"
    shutil.copytree(schema_upgrade.get_scripts_directory(), scripts)
    (scripts / "versions" / "9999_next.py").write_text(
        NEXT.format(head=schema_revisions.HEAD_REVISION, body=body)
    )
    monkeypatch.setattr(schema_upgrade, "get_scripts_directory", lambda: scripts)
    schema_upgrade.upgrade(database)
    assert schema_revisions.get_current_revision(database) == "9999"
    assert _lost(rows, database) == lost
    if not lost:
        with database.read() as connection:
            found = connection.execute(sa.text("SELECT DISTINCT extra FROM stack")).scalars()
            assert list(found) == [7]


def test_release_rows_cover_all_tables() -> None:
    """Only rows that need daemons, Keystone or other services are missing."""
    empty: dict[str, Any] = {
        name for name, rows in release_rows.create_rows_of_this_release().items() if not rows
    }
    assert empty <= {"service", "stack_credential", "resource_graph", "resource_hold",
                     "watch_group", "observation", "stack_drift", "drift_repair",
                     "drift_breaker", "quarantine", "stack_plan"}  # fmt: skip
