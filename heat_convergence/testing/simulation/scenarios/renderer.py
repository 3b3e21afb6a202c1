"""What scenarios show of a world: in words that stay the same from run to run.

Used by ``testing.transcript``.  Identifiers are left out, for they say nothing to a
reader; things of the cloud keep their short ones.
"""

from __future__ import annotations

from collections.abc import Iterator

from heat_convergence.convergence.lifecycle.breakpoint_reasons import stack_status_reason
from heat_convergence.convergence.model.job import DesiredState
from heat_convergence.convergence.model.resource import Resource
from heat_convergence.convergence.planning.desired_state import NESTED_STACK_KEY
from heat_convergence.testing.simulation.environment import SimulatedEnvironment


def render_stacks(world: SimulatedEnvironment) -> Iterator[str]:
    """``red: UPDATE_COMPLETE`` and, of a failure, its reason, or where it waits."""
    known = {key: snapshot.stack for key, snapshot in world.invariant_checker.stack_states.items()}
    with world.store.transaction() as tx:
        places = tx.tree.find_breakpoint_locations(list(known.values()))
    waiting = {place.stack_id for place in places}
    for stack_id, stack in sorted(known.items()):
        told = stack.status == "FAILED" or stack_id in waiting
        reason = f": {stack_status_reason(stack, places)}" if told else ""
        yield f"{world.stack_path(stack)}: {stack.action}_{stack.status}{reason}"


def render_reality(world: SimulatedEnvironment) -> Iterator[str]:
    """Everything that exists, oldest first."""
    names = {
        row.id: f"{world.stack_path(snapshot.stack)}.{row.name}"
        for snapshot in world.invariant_checker.stack_states.values()
        for row in snapshot.resources
    }
    found = False
    for thing in world.cloud.active_objects():
        found = True
        words = [f"{thing.id} {names.get(thing.resource_id, 'nobody')}"]
        words += [f"{key}={_plain(value)}" for key, value in thing.properties.items() if value]
        if world.cloud.is_busy(thing):
            words.append("(coming)")
        if thing.in_error:
            words.append("(broken)")
        if thing.suspended:
            words.append("(paused)")
        yield " ".join(words)
    for copy in world.cloud.snapshots.values():
        if copy.exists:
            found = True
            yield f"{copy.id} saved of {copy.source_id}"
    if not found:
        yield "nothing"


def render_resources(world: SimulatedEnvironment) -> Iterator[str]:
    """The rows of all stacks that live, as users see them."""
    for stack_id in sorted(world.invariant_checker.stack_states):
        snapshot = world.invariant_checker.stack_states[stack_id]
        for row in sorted(snapshot.resources, key=lambda row: (row.name, row.id)):
            yield f"{world.stack_path(snapshot.stack)}.{row.name}: {_row(row)}"


def _row(row: Resource) -> str:
    shown = (
        "(a stack)" if NESTED_STACK_KEY in row.definition and row.physical_id else row.physical_id
    )
    words = [f"{row.action}_{row.status}", shown or "-"]
    if row.job_state is not None:
        words.append(f"{row.job_state} {row.hook}" if row.job_state == "held" else row.job_state)
    if row.desired is DesiredState.ABSENT:
        words.append("unwanted")
    return " ".join(words)


def render_events(world: SimulatedEnvironment, stack: str) -> Iterator[str]:
    """All events of the stack, in their order (memory store only)."""
    tables = getattr(world.store, "tables", None)
    snapshots = world.invariant_checker.stack_states.items()
    found = max((key for key, s in snapshots if world.stack_path(s.stack) == stack), default="")
    for event in tables.events if tables is not None else ():
        if event.stack_id == found:
            yield f"{event.resource_name} {event.action}_{event.status}: {event.reason}"


def _plain(value: object) -> str:
    return ",".join(map(str, value)) if isinstance(value, list) else str(value)
