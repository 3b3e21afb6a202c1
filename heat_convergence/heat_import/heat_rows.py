"""The rows of stack trees in Heat's database, read with a few statements for many trees.

Called by ``importer`` on the connection of the snapshot. Decides which rows belong to a tree;
must not judge them.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Connection, Row

from heat_convergence.heat_import.heat_tables import REVISION_TABLE, TABLES, is_described

HeatRow = Row[Any]
_CHUNK = 500


@dataclass(slots=True)
class HeatTree:
    """All rows of a root stack and its nested stacks.

    Attributes:
        stacks: the root first, then by depth; backup stacks among them.
        resources: by stack id, in the order of their keys.
        data: by key of the resource.
        templates: by key.
        files: by key.
        values: properties and attributes by key.
        locks: rows of stack_lock and sync_point: work that was under way.
        snapshot_parts: saved resources by id of the snapshot.
    """

    stacks: list[HeatRow]
    resources: Mapping[str, Sequence[HeatRow]]
    data: Mapping[int, Sequence[HeatRow]]
    templates: Mapping[int, HeatRow]
    files: Mapping[int, HeatRow]
    values: Mapping[int, HeatRow]
    credential: HeatRow | None
    tags: Sequence[str]
    locks: int
    configs: Sequence[HeatRow] = ()
    deployments: Sequence[HeatRow] = ()
    snapshots: Sequence[HeatRow] = ()
    snapshot_parts: Mapping[str, Sequence[HeatRow]] = field(default_factory=dict)
    events: Sequence[HeatRow] = field(default_factory=list)

    @property
    def root(self) -> HeatRow:
        """The root stack."""
        return self.stacks[0]

    @property
    def all_resources(self) -> list[HeatRow]:
        """The resources of all stacks."""
        return [row for stack in self.stacks for row in self.resources.get(stack.id, ())]


def select_in(
    conn: Connection,
    table: str,
    column: str,
    keys: Collection[Any],
    order: str | None = None,
    without: Collection[str] = (),
) -> list[HeatRow]:
    """Return the rows of a table whose column has one of the keys.

    Args:
        conn: the snapshot's connection.
        table: the table.
        column: the column.
        keys: values of the column.
        order: the column by which the rows are ordered.
        without: columns that are not read.
    """
    described = TABLES[table]
    columns = [each for each in described.c if each.name not in without]
    found: list[HeatRow] = []
    requested = sorted(key for key in set(keys) if key is not None)
    for at in range(0, len(requested), _CHUNK):
        query = sa.select(*columns).where(described.c[column].in_(requested[at : at + _CHUNK]))
        if order is not None:
            query = query.order_by(described.c[order])
        found.extend(conn.execute(query))
    return found


def load_trees(conn: Connection, roots: Sequence[HeatRow], max_events: int) -> list[HeatTree]:
    """Return the trees of these root stacks.

    Args:
        conn: the snapshot's connection.
        roots: rows of root stacks.
        max_events: how many of the last events of each stack are read.
    """
    stacks = _load_stacks(conn, roots)
    ids = [stack.id for stack in stacks]
    root_of = _root_ids(stacks)
    resources = select_in(conn, "resource", "stack_id", ids, "id")
    data = select_in(conn, "resource_data", "resource_id", [row.id for row in resources], "id")
    templates = _load_templates(conn, stacks, resources)
    files = select_in(conn, "raw_template_files", "id", [each.files_id for each in templates])
    value_ids = {row.rsrc_prop_data_id for row in resources}
    value_ids |= {row.attr_data_id for row in resources}
    values = select_in(conn, "resource_properties_data", "id", value_ids)
    credentials = select_in(conn, "user_creds", "id", [root.user_creds_id for root in roots])
    tags = select_in(conn, "stack_tag", "stack_id", [root.id for root in roots], "id")
    locks = _load_locks(conn, ids)
    deployments, configs = _load_software(conn, resources)
    snapshots, parts = _load_snapshots(conn, ids)
    events = _load_events(conn, ids, max_events)
    by_key = {row.id: row for row in credentials}
    trees = []
    for root in roots:
        members = [stack for stack in stacks if root_of[stack.id] == root.id]
        own_ids = {stack.id for stack in members}
        own = _group([row for row in resources if row.stack_id in own_ids], "stack_id")
        physical = {row.nova_instance for rows in own.values() for row in rows}
        own_deployments = [each for each in deployments if each.id in physical]
        config_ids = physical | {each.config_id for each in own_deployments}
        trees.append(
            HeatTree(
                stacks=members,
                resources=own,
                data=_group(data, "resource_id"),
                templates={row.id: row for row in templates},
                files={row.id: row for row in files},
                values={row.id: row for row in values},
                credential=by_key.get(root.user_creds_id),
                tags=[row.tag for row in tags if row.stack_id == root.id and row.tag],
                locks=sum(locks.get(stack_id, 0) for stack_id in own_ids),
                configs=[each for each in configs if each.id in config_ids],
                deployments=own_deployments,
                snapshots=[each for each in snapshots if each.stack_id in own_ids],
                snapshot_parts=parts,
                events=[each for each in events if each.stack_id in own_ids],
            )
        )
    return trees


def _load_stacks(conn: Connection, roots: Sequence[HeatRow]) -> list[HeatRow]:
    """Return the roots and all that they own and that is not deleted, by depth."""
    found, level, known = list(roots), list(roots), {root.id for root in roots}
    while level:
        rows = select_in(conn, "stack", "owner_id", [stack.id for stack in level], "id")
        level = [row for row in rows if row.deleted_at is None and row.id not in known]
        known |= {row.id for row in level}
        found.extend(level)
    return found


def _root_ids(stacks: Sequence[HeatRow]) -> dict[str, str]:
    """Return the id of the root of each stack; owners come before what they own."""
    found: dict[str, str] = {}
    for stack in stacks:
        found[stack.id] = found.get(stack.owner_id, stack.id)
    return found


def _load_templates(
    conn: Connection, stacks: Sequence[HeatRow], resources: Sequence[HeatRow]
) -> list[HeatRow]:
    keys = {stack.raw_template_id for stack in stacks}
    keys |= {stack.prev_raw_template_id for stack in stacks}
    keys |= {row.current_template_id for row in resources}
    return select_in(conn, "raw_template", "id", keys)


def _load_locks(conn: Connection, stack_ids: Sequence[str]) -> dict[str, int]:
    found: dict[str, int] = defaultdict(int)
    for table in ("stack_lock", "sync_point"):
        for row in select_in(conn, table, "stack_id", stack_ids):
            found[row.stack_id] += 1
    return found


def _load_software(
    conn: Connection, resources: Sequence[HeatRow]
) -> tuple[list[HeatRow], list[HeatRow]]:
    """Return deployments and configurations that the resources are."""
    physical = [row.nova_instance for row in resources]
    deployments = select_in(conn, "software_deployment", "id", physical)
    keys = {*physical, *(each.config_id for each in deployments)}
    return deployments, select_in(conn, "software_config", "id", keys)


def _load_snapshots(
    conn: Connection, stack_ids: Sequence[str]
) -> tuple[list[HeatRow], dict[Any, list[HeatRow]]]:
    """Return snapshots, and what later releases store of each resource, by snapshot."""
    revision = str(conn.scalar(sa.select(REVISION_TABLE.c.version_num)))
    missing = [] if is_described("snapshot.action", revision) else ["action"]
    rows = select_in(conn, "snapshot", "stack_id", stack_ids, "created_at", missing)
    if not is_described("resource_snapshot", revision):
        return rows, {}
    keys = [row.id for row in rows]
    parts = select_in(conn, "resource_snapshot", "snapshot_id", keys, "resource_name")
    return rows, _group(parts, "snapshot_id")


def _load_events(conn: Connection, stack_ids: Sequence[str], limit: int) -> list[HeatRow]:
    """Return the last events of each stack, in their order."""
    if limit <= 0:
        return []
    event = TABLES["event"]
    found: list[HeatRow] = []
    place = sa.func.row_number().over(
        partition_by=event.c.stack_id, order_by=(event.c.created_at.desc(), event.c.id.desc())
    )
    for at in range(0, len(stack_ids), _CHUNK):
        some = event.c.stack_id.in_(stack_ids[at : at + _CHUNK])
        ranked = sa.select(event, place.label("place")).where(some).subquery()
        newest = sa.select(ranked).where(ranked.c.place <= limit)
        found.extend(conn.execute(newest.order_by(ranked.c.created_at, ranked.c.id)))
    return found


def _group(rows: Sequence[HeatRow], column: str) -> dict[Any, list[HeatRow]]:
    found: dict[Any, list[HeatRow]] = defaultdict(list)
    for row in rows:
        found[getattr(row, column)].append(row)
    return found
