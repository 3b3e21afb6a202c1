"""What scenarios show of a world: in words that stay the same from run to run.

Used by ``testing.transcript``.  Identifiers are left out, for they say nothing to a
reader; things of the cloud keep their short ones.
"""

from __future__ import annotations

from collections.abc import Iterator

from heat_convergence.convergence.model import Desired, Resource
from heat_convergence.testing.world import World


def stacks(world: World) -> Iterator[str]:
    """``red: UPDATE_COMPLETE`` and, of a failure, its reason."""
    for stack_id in sorted(world.watch.snapshots):
        stack = world.watch.snapshots[stack_id].stack
        reason = f": {stack.status_reason}" if stack.status == "FAILED" else ""
        yield f"{stack.name}: {stack.action}_{stack.status}{reason}"


def reality(world: World) -> Iterator[str]:
    """Everything that exists, oldest first."""
    names = {
        row.id: f"{snapshot.stack.name}.{row.name}"
        for snapshot in world.watch.snapshots.values()
        for row in snapshot.rows
    }
    found = False
    for thing in world.cloud.alive():
        found = True
        words = [f"{thing.id} {names.get(thing.resource_id, 'nobody')}"]
        words += [f"{key}={_plain(value)}" for key, value in thing.properties.items() if value]
        if world.cloud.at_work(thing):
            words.append("(coming)")
        if thing.broken:
            words.append("(broken)")
        if thing.paused:
            words.append("(paused)")
        yield " ".join(words)
    if not found:
        yield "nothing"


def resources(world: World) -> Iterator[str]:
    """The rows of all stacks that live, as users see them."""
    for stack_id in sorted(world.watch.snapshots):
        snapshot = world.watch.snapshots[stack_id]
        for row in sorted(snapshot.rows, key=lambda row: (row.name, row.id)):
            yield f"{snapshot.stack.name}.{row.name}: {_row(row)}"


def _row(row: Resource) -> str:
    words = [f"{row.action}_{row.status}", row.physical_id or "-"]
    if row.job_state is not None:
        words.append(str(row.job_state))
    if row.desired is Desired.ABSENT:
        words.append("unwanted")
    return " ".join(words)


def events(world: World, stack: str) -> Iterator[str]:
    """All events of the stack, in their order (memory store only)."""
    tables = getattr(world.store, "tables", None)
    for event in tables.events if tables is not None else ():
        if event.stack_id == world.stack_id(stack):
            yield f"{event.resource_name} {event.action}_{event.status}: {event.reason}"


def _plain(value: object) -> str:
    return ",".join(map(str, value)) if isinstance(value, list) else str(value)
