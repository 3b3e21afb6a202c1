"""The rows of an imported tree, written in one transaction.

Called by ``importer``. Adds to the stacks what belongs to a tree as a whole: the credential of
its owner, tags, events, software configurations and deployments.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from heat_convergence.clients.credentials import Credential
from heat_convergence.clients.settings import DeferredAuthMethod
from heat_convergence.common.ids import build_uuid7
from heat_convergence.convergence.model.action import Action, Status
from heat_convergence.convergence.model.event import Event
from heat_convergence.convergence.model.goal_storage import deduplicate
from heat_convergence.db.repositories.contents import SqlContentRepository
from heat_convergence.db.repositories.events import SqlEventRepository
from heat_convergence.db.repositories.goals import SqlGoalRepository
from heat_convergence.db.repositories.resources import SqlResourceRepository
from heat_convergence.db.repositories.snapshots import SqlSnapshotRepository
from heat_convergence.db.repositories.stacks import SqlStackRepository
from heat_convergence.db.statements import credentials, software
from heat_convergence.db.statements.software import SoftwareConfigRow, SoftwareDeploymentRow
from heat_convergence.db.tables import (
    resource,
    software_config,
    software_deployment,
)
from heat_convergence.db.tables import snapshot as snapshot_table
from heat_convergence.db.tables import stack as stack_table
from heat_convergence.heat_import.heat_rows import HeatRow, HeatTree
from heat_convergence.heat_import.heat_values import (
    INTERRUPTED,
    HeatCipher,
    HeatValueUnreadable,
    parse_map,
    parse_uuid,
    to_utc,
)
from heat_convergence.heat_import.tree_builder import ImportedStack

Json = Any
_CONTENTS = ("config", "inputs", "outputs", "options")


@dataclass(frozen=True, slots=True)
class ImportedTree:
    """Everything that one transaction writes."""

    stacks: Sequence[ImportedStack]
    credential: Credential | None
    configs: Sequence[SoftwareConfigRow]
    deployments: Sequence[SoftwareDeploymentRow]
    events: Sequence[Event]
    notes: tuple[str, ...] = ()


def assemble_tree(
    tree: HeatTree, stacks: Sequence[ImportedStack], credential: Credential | None
) -> ImportedTree:
    """Return the tree with what belongs to it as a whole.

    Raises:
        HeatValueUnreadable: a value cannot be read.
    """
    tagged = [replace(stacks[0], stack=replace(stacks[0].stack, tags=tuple(tree.tags)))]
    notes = [note for each in stacks for note in (*_interruptions(each), *each.notes)]
    if credential is None:
        notes.append("no trust: the owner must update the stack before it can change by itself")
    return ImportedTree(
        stacks=[*tagged, *stacks[1:]],
        credential=credential,
        configs=[read_config(row) for row in tree.configs],
        deployments=[_deployment(row) for row in tree.deployments],
        events=list(_events(tree.events)),
        notes=tuple(notes),
    )


def _interruptions(found: ImportedStack) -> Iterator[str]:
    """Yield what to do about an action that Heat has not ended."""
    stack = found.stack
    if INTERRUPTED not in stack.status_reason:
        return
    remedy = "resume" if stack.action is Action.SUSPEND else "update"
    yield (
        f"stack {stack.name} was {stack.action}_IN_PROGRESS and is imported as"
        f" {stack.action}_FAILED: {remedy} or delete it to go on"
    )
    for row in found.resources:
        if row.state.status is Status.IN_PROGRESS and row.physical.id is None:
            yield (
                f"resource {row.name} may exist as {row.identity.physical_name}: Heat has not"
                " recorded its id; that action looks for the name"
            )


def find_existing_ids(conn: Connection, tree: ImportedTree) -> list[str]:
    """Return ids of the tree that rows of this service have already."""
    requested: tuple[tuple[sa.Table, list[str]], ...] = (
        (stack_table, [each.stack.id for each in tree.stacks]),
        (resource, [row.id for each in tree.stacks for row in each.resources]),
        (
            snapshot_table,
            [saved.snapshot.id for each in tree.stacks for saved in each.snapshots],
        ),
        (software_config, [row.id for row in tree.configs]),
        (software_deployment, [row.id for row in tree.deployments]),
    )
    found: list[str] = []
    for table, ids in requested:
        for at in range(0, len(ids), 500):
            some = sa.select(table.c.id).where(table.c.id.in_(ids[at : at + 500]))
            found.extend(conn.scalars(some))
    return sorted(found)


def write_tree(conn: Connection, tree: ImportedTree, now: datetime) -> None:
    """Insert all rows of a tree.

    Raises:
        StackExists: another stack of the project has the name.
    """
    root_id = tree.stacks[0].stack.id
    if tree.credential is not None:
        credentials.upsert(conn, root_id, tree.credential.dump(), now)
    for each in tree.stacks:
        _write_stack(conn, each)
    for config in tree.configs:
        software.insert_config(conn, config)
    for deployment in tree.deployments:
        software.insert_deployment(conn, deployment)
    SqlEventRepository(conn).insert(tree.events)


def _write_stack(conn: Connection, found: ImportedStack) -> None:
    SqlStackRepository(conn).insert(found.stack)
    texts = dict(found.contents)
    for saved in found.snapshots:
        texts |= saved.contents
    goals = SqlGoalRepository(conn)
    for goal in (*found.goals, *(saved.goal for saved in found.snapshots)):
        own = {key for each in found.desired_resources.values() for key in each.contents}
        stored, more = deduplicate(replace(goal, content_hashes=tuple(sorted(own))))
        texts |= more
        SqlContentRepository(conn).put(texts)
        goals.insert(stored)
    SqlResourceRepository(conn).insert(found.resources)
    for saved in found.snapshots:
        SqlSnapshotRepository(conn).insert(saved.snapshot)


def read_credential(row: HeatRow | None, cipher: HeatCipher) -> Credential | None:
    """Return the trust of the stack's owner; None where Heat has only a password.

    Raises:
        HeatValueUnreadable: it cannot be decrypted.
    """
    if row is None or not row.trust_id or not row.trustor_user_id:
        return None
    trust_id = cipher.decrypt(row.decrypt_method, row.trust_id, "the trust of the stack's owner")
    return Credential(
        DeferredAuthMethod.TRUSTS,
        row.trustor_user_id,
        row.tenant_id,
        {"trust_id": trust_id},
        region=row.region_name,
    )


def read_config(row: HeatRow) -> SoftwareConfigRow:
    """Return a software configuration with its content."""
    body = parse_map(row.config, f"software config {row.id}")
    return SoftwareConfigRow(
        row.id,
        row.tenant,
        row.name or "",
        row.group or "",
        {name: body[name] for name in _CONTENTS if name in body},
        _time(row),
    )


def _deployment(row: HeatRow) -> SoftwareDeploymentRow:
    where = f"software deployment {row.id}"
    return SoftwareDeploymentRow(
        id=row.id,
        project_id=row.tenant,
        server_id=row.server_id,
        config_id=row.config_id,
        action=row.action or "",
        status=row.status or "",
        status_reason=row.status_reason or "",
        created_at=_time(row),
        stack_user_project_id=row.stack_user_project_id,
        input_values=parse_map(row.input_values, where),
        output_values=parse_map(row.output_values, where) or None,
        updated_at=to_utc(row.updated_at),
    )


def _events(rows: Sequence[HeatRow]) -> Iterator[Event]:
    """Yield events whose ids and times keep the order that Heat shows.

    Heat stores whole seconds: events of one second are a microsecond apart here.
    """
    last: dict[tuple[str, datetime], int] = {}
    for row in rows:
        second = _time(row)
        count = last[row.stack_id, second] = last.get((row.stack_id, second), -1) + 1
        at = second + timedelta(microseconds=count)
        yield Event(
            id=_event_id(row, second, count),
            stack_id=row.stack_id,
            resource_name=row.resource_name or "",
            resource_type=row.resource_type or "",
            physical_id=row.physical_resource_id,
            action=row.resource_action or "",
            status=_status(row),
            reason=row.resource_status_reason or "",
            created_at=at,
        )


def _event_id(row: HeatRow, second: datetime, count: int) -> str:
    """Return an id that sorts by time, with random bits of Heat's id."""
    random_bits = parse_uuid(row.uuid, f"the id of event {row.id}").int & (2**62 - 1)
    return build_uuid7(int(second.timestamp() * 1000), (count & 0xFFF) << 62 | random_bits)


def _status(row: HeatRow) -> Status:
    try:
        return Status(row.resource_status)
    except ValueError as error:
        raise HeatValueUnreadable(f"event {row.uuid} has an unknown status") from error


def _time(row: HeatRow) -> datetime:
    found = to_utc(row.created_at)
    if found is None:
        raise HeatValueUnreadable(f"row {row.id} has no time of creation")
    return found
