"""The lock under which a project's stacks, resources and software configs are counted.

Transactions that add rows count them after they have taken the lock, so that each sees what
the others have committed. Called by repositories and by the API.
"""

from __future__ import annotations

from functools import cache
from importlib import import_module
from typing import Any

from sqlalchemy.engine import Connection

from heat_convergence.db.tables import quota_lock


def lock_quotas(connection: Connection, project_id: str) -> None:
    """Lock the quotas of a project until the end of the transaction.

    No other lock may be taken after it. The row changes each time: on a Galera cluster, nodes
    find a conflict between changes of a row and not between locks.
    """
    connection.execute(_upsert(connection.dialect.name), {"project_id": project_id, "turn": 0})


@cache
def _upsert(dialect: str) -> Any:
    mysql = dialect in ("mysql", "mariadb")
    # The connection's dialect is loaded already; megabytes of the others are not needed.
    insert = import_module(f"sqlalchemy.dialects.{'mysql' if mysql else dialect}").insert
    changed = {"turn": quota_lock.c.turn + 1}
    if mysql:
        return insert(quota_lock).on_duplicate_key_update(**changed)
    return insert(quota_lock).on_conflict_do_update(
        index_elements=[quota_lock.c.project_id], set_=changed
    )
