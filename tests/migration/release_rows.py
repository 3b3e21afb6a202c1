"""Rows of a release's database, kept in a file with which later releases are tested.

``python -m tests.migration.release_rows`` writes ``data/<revision>.json`` of the newest
revision, for a release and before the next migration.  Until then the code itself creates
that revision's rows.
"""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Engine

from heat_convergence.api.services import ApiOptions
from heat_convergence.db.maintenance import schema_revisions
from tests.functional.fake_server import create_stack
from tests.functional.harness import LocalService

Json = Any
Rows = dict[str, list[dict[str, Json]]]
FOLDER = Path(__file__).parent / "data"
CHILD = """
heat_template_version: 2018-08-31
parameters: {v: {type: string}}
resources: {a: {type: OS::Heat::Value, properties: {value: {get_param: v}}}}
outputs: {o: {value: {get_attr: [a, value]}}}
"""
TEMPLATE = {
    "heat_template_version": "2018-08-31",
    "description": "From an earlier release",
    "parameters": {"word": {"type": "string", "hidden": True, "default": "sésame 🙂"}},
    "resources": {
        "number": {"type": "OS::Heat::RandomString"},
        "group": {"type": "OS::Heat::ResourceGroup", "properties": {
            "count": 2, "resource_def": {"type": "child.yaml",
                                         "properties": {"v": {"get_param": "word"}}}}},
        "sign": {"type": "OS::Heat::Value",
                 "properties": {"value": {"get_attr": ["number", "value"]}}},
    },
    "outputs": {"sign": {"value": {"get_attr": ["sign", "value"]}},
                "words": {"value": {"get_attr": ["group", "o"]}}},
}  # fmt: skip


def read_all_rows(engine: Engine) -> Rows:
    """Return all rows of all tables but alembic's own, as the database has them."""
    tables = sa.MetaData()
    tables.reflect(engine)
    with engine.connect() as connection:
        return {
            table.name: [dict(row._mapping) for row in connection.execute(sa.select(table))]
            for table in tables.sorted_tables
            if table.name != "alembic_version"
        }


def insert_rows(engine: Engine, rows: Rows) -> None:
    """Insert rows in the order that foreign keys require."""
    tables = sa.MetaData()
    tables.reflect(engine)
    with engine.begin() as connection:
        for table in tables.sorted_tables:
            if rows.get(table.name):
                connection.execute(
                    table.insert(),
                    [_typed(table, row) for row in _parents_first(rows[table.name])],
                )


def _parents_first(rows: list[dict[str, Json]]) -> list[dict[str, Json]]:
    return sorted(rows, key=lambda row: (row.get("depth") or 0, str(row.get("id"))))


def _typed(table: sa.Table, row: dict[str, Json]) -> dict[str, Json]:
    """Return the row with booleans, for which SQLite has numbers."""
    flags = {column.name for column in table.columns if isinstance(column.type, sa.Boolean)}
    return {
        name: bool(value) if name in flags and value is not None else value
        for name, value in row.items()
    }


def create_rows_of_this_release() -> Rows:
    """Return rows that this release writes.

    They are those of a tree with a secret, updated once, a failed stack, a snapshot, a
    deleted stack, and software.
    """
    with tempfile.TemporaryDirectory() as folder:
        service = LocalService(f"sqlite:///{folder}/hc.sqlite", ApiOptions())
        files = {"child.yaml": CHILD}
        path = create_stack(service, stack_name="tree", template=TEMPLATE, files=files, tags="a,b")
        done = service.send("PATCH", path, {"parameters": {"word": "andere"}})
        assert done.status_int == 202, done.text
        service.send("POST", f"{path}/snapshots", {"name": "before"})
        deleted = create_stack(
            service, stack_name="deleted", template={**TEMPLATE, "resources": {}, "outputs": {}}
        )
        service.send("DELETE", deleted)
        broken = {"type": "OS::Heat::TestResource", "properties": {"fail": True}}
        create_stack(
            service,
            stack_name="broken",
            template={"heat_template_version": "2018-08-31", "resources": {"r": broken}},
        )
        made = service.send("POST", "/software_configs", {"name": "c", "config": "echo"})
        body = {"config_id": made.json["software_config"]["id"], "server_id": "server"}
        service.send("POST", "/software_deployments", body)
        found = read_all_rows(service.database.engine)
        service.close()
    return found


def load_rows_of_revision(revision: str) -> Rows:
    """Return the rows of a revision."""
    path = FOLDER / f"{revision}.json"
    if path.exists():
        return json.loads(path.read_text())
    if revision == schema_revisions.HEAD_REVISION:
        return create_rows_of_this_release()
    raise FileNotFoundError(f"{path}: check out the release and run python -m {__spec__.name}")


if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    (FOLDER / f"{schema_revisions.HEAD_REVISION}.json").write_text(
        json.dumps(create_rows_of_this_release(), indent=1) + "\n"
    )
