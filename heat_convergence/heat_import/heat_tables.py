"""The tables of Heat's database, as far as the import reads them.

Used by ``heat_database`` and ``heat_rows``. Maps and lists are JSON texts, which
``heat_values`` parses. Columns and tables that not every supported revision has are in ``SINCE``.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sqlalchemy import Boolean, Column, DateTime, Integer, MetaData, String, Table, Text

metadata = MetaData()
_TYPES: Mapping[str, Any] = {
    "text": Text,
    "name": String(255),
    "id": String(36),
    "number": Integer,
    "flag": Boolean,
    "time": DateTime,
}

# Table → type → columns; the first column is the key.
_COLUMNS: Mapping[str, Mapping[str, str]] = {
    "stack": {
        "id": "id owner_id stack_user_project_id current_traversal",
        "name": "name action status username tenant parent_resource_name",
        "text": "status_reason",
        "number": "raw_template_id prev_raw_template_id user_creds_id timeout nested_depth",
        "flag": "disable_rollback backup convergence",
        "time": "created_at updated_at deleted_at",
    },
    "resource": {
        "number": "id current_template_id replaces replaced_by rsrc_prop_data_id attr_data_id",
        "id": "uuid stack_id engine_id",
        "name": "name action status nova_instance",
        "text": "status_reason rsrc_metadata properties_data requires",
        "flag": "properties_data_encrypted",
        "time": "created_at updated_at",
    },
    "resource_data": {
        "number": "id resource_id",
        "name": "key decrypt_method",
        "text": "value",
        "flag": "redact",
    },
    "resource_properties_data": {"number": "id", "text": "data", "flag": "encrypted"},
    "raw_template": {"number": "id files_id", "text": "template files environment"},
    "raw_template_files": {"number": "id", "text": "files"},
    "user_creds": {
        "number": "id",
        "name": "username region_name decrypt_method tenant_id trustor_user_id",
        "text": "password trust_id auth_url",
    },
    "stack_tag": {"number": "id", "id": "stack_id", "name": "tag"},
    "software_config": {
        "id": "id",
        "name": "name group tenant",
        "text": "config",
        "time": "created_at",
    },
    "software_deployment": {
        "id": "id config_id",
        "name": "server_id action status tenant stack_user_project_id",
        "text": "status_reason input_values output_values",
        "time": "created_at updated_at",
    },
    "snapshot": {
        "id": "id stack_id",
        "name": "name action status",
        "text": "status_reason data",
        "time": "created_at",
    },
    "resource_snapshot": {"id": "id snapshot_id", "name": "resource_name", "text": "data"},
    "event": {
        "number": "id rsrc_prop_data_id",
        "id": "uuid stack_id",
        "name": "resource_action resource_status resource_name physical_resource_id"
        " resource_status_reason resource_type",
        "time": "created_at",
    },
    "service": {
        "id": "id",
        "name": "hostname binary",
        "number": "report_interval",
        "time": "created_at updated_at deleted_at",
    },
    "stack_lock": {"id": "stack_id engine_id"},
    "sync_point": {"id": "entity_id stack_id"},
}

REVISIONS: Mapping[str, str] = {
    "c6214ca60943": "2023.2 to 2025.2",  # pragma: allowlist secret
    "d2db381e3324": "2026.1",  # pragma: allowlist secret
    "88be64598c0f": "2026.1",  # pragma: allowlist secret
    "97b2a986f922": "2026.1 and later",  # pragma: allowlist secret
}
"""Supported revisions of the schema, the oldest first, with the releases that have them."""

SINCE: Mapping[str, str] = {
    "resource_snapshot": "88be64598c0f",  # pragma: allowlist secret
    "snapshot.action": "97b2a986f922",  # pragma: allowlist secret
}
"""Table, or table and column, that is read → the first revision that has it."""


def _table(name: str, columns: Mapping[str, str]) -> Table:
    return Table(
        name,
        metadata,
        *(
            Column(each, _TYPES[column_type], primary_key=place == (0, 0))
            for at, (column_type, names) in enumerate(columns.items())
            for place, each in (((at, n), one) for n, one in enumerate(names.split()))
        ),
    )


TABLES: Mapping[str, Table] = {name: _table(name, columns) for name, columns in _COLUMNS.items()}
REVISION_TABLE = Table("alembic_version", metadata, Column("version_num", String(32)))


def is_described(name: str, revision: str) -> bool:
    """Return whether a schema of this revision has a table or column of ``SINCE``."""
    order = list(REVISIONS)
    return order.index(revision) >= order.index(SINCE[name])
