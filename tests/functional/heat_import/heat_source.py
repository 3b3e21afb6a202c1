"""A database of Heat with rows as real Heat 27 has written them, in SQLite.

``data/heat_database.json`` has the rows of six stacks at rest and one in progress. Maps stand
there as they are, and ``{"$encrypted": …}`` for a value that Heat encrypts; secrets are replaced.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Mapping
from datetime import datetime
from functools import cache
from pathlib import Path
from typing import Any

import sqlalchemy as sa
from cryptography.fernet import Fernet

from heat_convergence.heat_import.heat_database import HeatDatabase, list_roots
from heat_convergence.heat_import.heat_tables import REVISION_TABLE, TABLES, metadata
from heat_convergence.heat_import.heat_values import FERNET_METHOD, HeatCipher
from heat_convergence.heat_import.importer import HeatImporter, ImportRequest, ImportResult
from tests.functional.harness import LocalService

Rows = dict[str, list[dict[str, Any]]]
HEAT_KEY = "sixteen letters!" * 2
PROJECT = "project-of-demo"
REVISION = "97b2a986f922"
BACKUP = {"volume_type": "", "backup_id": "backup-of-volume"}
_DATA = Path(__file__).parent / "data" / "heat_database.json"
_JSON_VALUES = {"resource_properties_data": ("data",)}


@cache
def _stored_rows() -> Rows:
    found: Rows = json.loads(_DATA.read_text())
    return found


def heat_rows() -> Rows:
    """Return the rows of all tables, to be changed."""
    return copy.deepcopy(_stored_rows())


def entry(name: str, resource_type: str, data: Mapping[str, str]) -> dict[str, Any]:
    """Return what Heat saves of one resource."""
    return {
        "name": name,
        "resource_id": f"id-of-{name}",
        "type": resource_type,
        "action": "CREATE",
        "status": "COMPLETE",
        "metadata": {},
        "resource_data": dict(data),
    }


def rows_with_snapshot() -> Rows:
    """Return rows in which the resources of the snapshot are saved."""
    rows = heat_rows()
    [saved] = rows["snapshot"]
    parts = [
        entry("volume", "OS::Cinder::Volume", BACKUP),
        entry("s", "OS::Heat::RandomString", {}),
    ]
    rows["resource_snapshot"] = [
        {"id": f"part-{each['name']}", "snapshot_id": saved["id"],
         "resource_name": each["name"], "data": each}
        for each in parts
    ]  # fmt: skip
    return rows


def rows_of(rows: Rows, table: str, **values: Any) -> list[dict[str, Any]]:
    """Return the rows of a table that have these values."""
    return [
        row for row in rows[table] if all(row.get(name) == value for name, value in values.items())
    ]


def write_heat_database(
    path: Path, rows: Rows | None = None, *, key: str = HEAT_KEY, revision: str | None = REVISION
) -> str:
    """Write a database in a file and return its URL."""
    url = f"sqlite:///{path}"
    fill_heat_database(url, rows, key=key, revision=revision)
    return url


def fill_heat_database(
    url: str, rows: Rows | None = None, *, key: str = HEAT_KEY, revision: str | None = REVISION
) -> None:
    """Create Heat's tables in an empty database, with rows."""
    engine = sa.create_engine(url)
    metadata.create_all(engine)
    cipher = _fernet(key)
    with engine.begin() as conn:
        if revision is not None:
            conn.execute(REVISION_TABLE.insert().values(version_num=revision))
        for table, found in (heat_rows() if rows is None else rows).items():
            for row in found:
                conn.execute(TABLES[table].insert().values(**_stored(table, row, cipher)))
    engine.dispose()


def _fernet(key: str) -> Callable[[str], str]:
    fernet = HeatCipher(key)._fernet
    assert isinstance(fernet, Fernet)
    return lambda text: fernet.encrypt(text.encode()).decode()


def _stored(table: str, row: Mapping[str, Any], encrypt: Callable[[str], str]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, value in row.items():
        column = TABLES[table].c[name]
        if isinstance(value, dict) and "$encrypted" in value:
            found[name], found["decrypt_method"] = encrypt(value["$encrypted"]), FERNET_METHOD
        elif isinstance(value, dict | list):
            found[name] = json.dumps(_with_encryption(value, encrypt))
        elif isinstance(column.type, sa.DateTime) and value is not None:
            found[name] = datetime.fromisoformat(value)
        else:
            found[name] = value
    return found


def _with_encryption(value: Any, encrypt: Callable[[str], str]) -> Any:
    if isinstance(value, dict) and "$encrypted" in value:
        return [FERNET_METHOD, encrypt(value["$encrypted"])]
    if isinstance(value, dict):
        return {name: _with_encryption(item, encrypt) for name, item in value.items()}
    return value


def import_all(
    service: LocalService, url: str, *stacks: str, key: str = HEAT_KEY, **options: Any
) -> dict[str, ImportResult]:
    """Import stacks by name, or all, and return the results by name."""
    request = ImportRequest(cipher=HeatCipher(key), **options)
    importer = HeatImporter(service.database, service.services, service.services.ids, request)
    heat = HeatDatabase(url)
    try:
        with heat.snapshot() as conn:
            roots = list_roots(conn, [], stacks)
            return {result.root.name: result for result in importer.run(conn, roots)}
    finally:
        heat.close()
