"""Leases of workers on resources in the database."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from heat_convergence.convergence.model.resource import Resource
from heat_convergence.convergence.ports.leases import LeaseRepository
from heat_convergence.db.statements import value_dedup
from heat_convergence.db.statements.resource_rows import (
    COLUMNS,
    FOR_NO_KEY_UPDATE,
    FOR_NO_KEY_UPDATE_SKIP_LOCKED,
    ROW_ID,
    as_parameters,
    build_update,
    select_by_ids,
    select_rows,
)
from heat_convergence.db.tables import resource

_TOKEN = resource.c.lease_token == sa.bindparam("token")
_LOCK_CLAIMABLE = select_by_ids(COLUMNS).with_for_update(**FOR_NO_KEY_UPDATE_SKIP_LOCKED)
_LOCK_HELD = (
    select_by_ids([resource.c.id, resource.c.version])
    .where(_TOKEN)
    .with_for_update(**FOR_NO_KEY_UPDATE)
)
_HELD = sa.and_(ROW_ID, _TOKEN, resource.c.version == sa.bindparam("of_version"))


class SqlLeaseRepository(LeaseRepository):
    """Leases on a database connection."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def lock_claimable(self, ids: Collection[str]) -> list[Resource]:
        """Lock and return whole rows, skipping those locked by another transaction."""
        return select_rows(self._connection, _LOCK_CLAIMABLE, ids=sorted(ids)) if ids else []

    def lock_held(self, ids: Collection[str], token: str) -> Mapping[str, int]:
        """Lock those of the rows still leased under ``token``; return id → current version."""
        found = self._connection.execute(_LOCK_HELD, {"ids": sorted(ids), "token": token})
        return {row.id: row.version for row in found}

    def save(self, resource_id: str, token: str, version: int, values: Mapping[str, Any]) -> bool:
        """Set columns if the row still has this lease token and version."""
        row = dict(values)
        value_dedup.store_shared(self._connection, [row])
        held = {"row_id": resource_id, "token": token, "of_version": version}
        found = self._connection.execute(
            build_update(_HELD, tuple(values)), {**as_parameters(row), **held}
        )
        return found.rowcount == 1
