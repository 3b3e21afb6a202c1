"""What scenarios show of a world: in words that stay the same from run to run.

Used by ``testing.transcript``.  Identifiers are left out, for they say nothing to a
reader; things of the cloud keep their short ones.
"""

from __future__ import annotations

from collections.abc import Iterator

from heat_convergence.convergence.model import Desired, Resource
from heat_convergence.convergence.places import stack_reason
from heat_convergence.convergence.wanted import NESTED
from heat_convergence.testing.world import World


def stacks(world: World) -> Iterator[str]:
    """``red: UPDATE_COMPLETE`` and, of a failure, its reason, or where it waits."""
    known = {key: snapshot.stack for key, snapshot in world.watch.snapshots.items()}
    with world.store.transaction() as tx:
        places = tx.places(list(known.values()))
    waiting = {place.stack_id for place in places}
    for stack_id, stack in sorted(known.items()):
        told = stack.status == "FAILED" or stack_id in waiting
        reason = f": {stack_reason(stack, places)}" if told else ""
        yield f"{world.path(stack)}: {stack.action}_{stack.status}{reason}"


def reality(world: World) -> Iterator[str]:
    """Everything that exists, oldest first."""
    names = {
        row.id: f"{world.path(snapshot.stack)}.{row.name}"
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
    for copy in world.cloud.copies.values():
        if copy.alive:
            found = True
            yield f"{copy.id} saved of {copy.thing_id}"
    if not found:
        yield "nothing"


def resources(world: World) -> Iterator[str]:
    """The rows of all stacks that live, as users see them."""
    for stack_id in sorted(world.watch.snapshots):
        snapshot = world.watch.snapshots[stack_id]
        for row in sorted(snapshot.rows, key=lambda row: (row.name, row.id)):
            yield f"{world.path(snapshot.stack)}.{row.name}: {_row(row)}"


def _row(row: Resource) -> str:
    shown = "(a stack)" if NESTED in row.definition and row.physical_id else row.physical_id
    words = [f"{row.action}_{row.status}", shown or "-"]
    if row.job_state is not None:
        words.append(f"{row.job_state} {row.hook}" if row.job_state == "held" else row.job_state)
    if row.desired is Desired.ABSENT:
        words.append("unwanted")
    return " ".join(words)


def events(world: World, stack: str) -> Iterator[str]:
    """All events of the stack, in their order (memory store only)."""
    tables = getattr(world.store, "tables", None)
    snapshots = world.watch.snapshots.items()
    found = max((key for key, s in snapshots if world.path(s.stack) == stack), default="")
    for event in tables.events if tables is not None else ():
        if event.stack_id == found:
            yield f"{event.resource_name} {event.action}_{event.status}: {event.reason}"


def _plain(value: object) -> str:
    return ",".join(map(str, value)) if isinstance(value, list) else str(value)
