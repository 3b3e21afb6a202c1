"""What an earlier release has stored is there after the upgrade, and lives on.

For every revision, on every database: the schema of then, rows of then, the upgrade, and
the service of today on them.
"""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from alembic.script import ScriptDirectory

from heat_convergence.db import migrate, revisions
from heat_convergence.db.engine import Database
from tests.functional.harness import LocalService
from tests.functional.houses import outputs, show
from tests.migration import data

REVISIONS = [script.revision
             for script in ScriptDirectory(str(migrate.scripts_directory())).walk_revisions()]
NEXT = '''
"""One that is to come."""
import sqlalchemy as sa
from alembic import op
revision, down_revision, branch_labels, depends_on = "9999", "{head}", None, None
def upgrade():
    {body}
'''


@pytest.mark.parametrize("revision", REVISIONS)
def test_stacks_of_then_live_on(url: str, database: Database, revision: str) -> None:
    migrate.upgrade(database, revision)
    given = data.of(revision)
    data.fill(database.engine, given)
    migrate.upgrade(database)
    assert migrate.differences(database) == []
    assert _lost(given, database) == {}

    service = LocalService(url)
    stacks = {each["stack_name"]: each for each in service.send("GET", "/stacks").json["stacks"]}
    assert {name: each["stack_status"] for name, each in stacks.items()} == {
        "tree": "SNAPSHOT_COMPLETE", "broken": "CREATE_FAILED"}  # fmt: skip
    path = f"/stacks/tree/{stacks['tree']['id']}"
    before = outputs(service, path)
    assert before["words"] == ["andere", "andere"]
    assert len(before["sign"]) == 32
    (saved,) = show(service, f"{path}/snapshots")
    assert service.send("POST", f"{path}/snapshots/{saved['id']}/restore").status_int == 202
    assert show(service, path)["stack_status"] == "RESTORE_COMPLETE"
    assert outputs(service, path)["sign"] == before["sign"]
    answer = service.send("PATCH", path, {"parameters": {"word": "neu"}})
    assert answer.status_int == 202, answer.text
    assert outputs(service, path)["words"] == ["neu", "neu"]
    (config,) = service.send("GET", "/software_configs").json["software_configs"]
    assert show(service, f"/software_configs/{config['id']}")["config"] == "echo"
    for each in stacks.values():
        there = f"/stacks/{each['stack_name']}/{each['id']}"
        assert service.send("DELETE", there).status_int == 204
        assert show(service, there)["stack_status"] == "DELETE_COMPLETE"
    service.close()


def _lost(given: data.Rows, database: Database) -> dict[str, int]:
    """How many rows fewer each table has."""
    now = data.rows(database.engine)
    fewer = {name: len(rows) - len(now.get(name, ())) for name, rows in given.items()}
    return {name: count for name, count in fewer.items() if count > 0}


@pytest.mark.parametrize(
    ("body", "lost"),
    [
        ('op.add_column("stack", sa.Column("extra", sa.Integer, server_default="7",'
         " nullable=False))", {}),
        ('op.drop_table("software_deployment")', {"software_deployment": 1}),
    ],
)  # fmt: skip
def test_what_a_migration_loses_is_noticed(
    database: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, body: str,
    lost: dict[str, int],
) -> None:  # fmt: skip
    """The test above is tested, with migrations that are none of ours."""
    migrate.upgrade(database)
    given = data.made_now()
    data.fill(database.engine, given)
    scripts = tmp_path / "scripts"
    shutil.copytree(migrate.scripts_directory(), scripts)
    (scripts / "versions" / "9999_next.py").write_text(
        NEXT.format(head=revisions.HEAD, body=body)
    )
    monkeypatch.setattr(migrate, "scripts_directory", lambda: scripts)
    migrate.upgrade(database)
    assert revisions.current(database) == "9999"
    assert _lost(given, database) == lost
    if not lost:
        with database.read() as connection:
            found = connection.execute(sa.text("SELECT DISTINCT extra FROM stack")).scalars()
            assert list(found) == [7]


def test_rows_are_of_all_that_there_is() -> None:
    """But for what only daemons and Keystone bring about."""
    empty: dict[str, Any] = {name for name, rows in data.made_now().items() if not rows}
    assert empty <= {"service", "stack_credential", "resource_graph", "resource_hold"}
