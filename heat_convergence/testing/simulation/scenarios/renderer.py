"""The states that scenarios show, in words that are the same in every run.

Used by the scenario interpreter.  Ids are left out, except the short ones of cloud
objects, because a reader cannot use them.
"""

from __future__ import annotations

from collections.abc import Iterator

from heat_convergence.convergence.lifecycle.breakpoint_reasons import breakpoint_reason
from heat_convergence.convergence.model.job import DesiredState, JobState
from heat_convergence.convergence.model.resource import Resource
from heat_convergence.convergence.planning.desired_state import NESTED_STACK_KEY
from heat_convergence.testing.simulation.environment import SimulatedEnvironment


def render_stacks(environment: SimulatedEnvironment) -> Iterator[str]:
    """Yield ``red: UPDATE_COMPLETE``, with the reason of a failure or the breakpoint."""
    states = environment.invariant_checker.stack_states
    stacks = {key: state.stack for key, state in states.items()}
    with environment.store.transaction() as tx:
        locations = tx.tree.find_breakpoint_locations(list(stacks.values()))
    for stack_id, stack in sorted(stacks.items()):
        waiting = [location for location in locations if location.stack_id == stack_id]
        reason = f": {stack.status_reason}" if stack.status == "FAILED" else ""
        if waiting:
            reason = f": Stack {breakpoint_reason(stack.action, waiting)}"
        yield f"{environment.stack_path(stack)}: {stack.action}_{stack.status}{reason}"


def render_reality(environment: SimulatedEnvironment) -> Iterator[str]:
    """Yield the objects and snapshots of the cloud, oldest first."""
    names = {
        row.id: f"{environment.stack_path(state.stack)}.{row.name}"
        for state in environment.invariant_checker.stack_states.values()
        for row in state.resources
    }
    found = False
    for each in environment.cloud.active_objects():
        found = True
        words = [f"{each.id} {names.get(each.resource_id, 'unowned')}"]
        words += [f"{key}={_text(value)}" for key, value in each.properties.items() if value]
        if environment.cloud.is_busy(each):
            words.append("(in progress)")
        if each.in_error:
            words.append("(error)")
        if each.suspended:
            words.append("(suspended)")
        yield " ".join(words)
    for snapshot in environment.cloud.snapshots.values():
        if snapshot.exists:
            found = True
            yield f"{snapshot.id} snapshot of {snapshot.source_id}"
    if not found:
        yield "nothing"


def render_resources(environment: SimulatedEnvironment) -> Iterator[str]:
    """Yield the resources of all stacks as users see them."""
    for stack_id in sorted(environment.invariant_checker.stack_states):
        state = environment.invariant_checker.stack_states[stack_id]
        for row in sorted(state.resources, key=lambda row: (row.name, row.id)):
            yield f"{environment.stack_path(state.stack)}.{row.name}: {_resource(row)}"


def render_quarantine(environment: SimulatedEnvironment) -> Iterator[str]:
    """Yield the resources in quarantine, with their tries and the reasons."""
    with environment.store.transaction() as tx:
        entries = tx.quarantine.list_by_project(environment.users.project_id)
    names = {each.resource_id: each.resource_name for each in entries}
    for each in sorted(entries, key=lambda each: (each.stack_name, each.resource_name)):
        awaited = sorted(names[key] for key in each.waits_for if key in names)
        waits = f" (waits for {', '.join(awaited)})" if awaited else ""
        shown = f"{each.stack_name}.{each.resource_name}: {each.tries} tries{waits}"
        yield f"{shown}: {each.reason}"
    if not entries:
        yield "nothing"


def _resource(row: Resource) -> str:
    shown = (
        "(nested stack)"
        if NESTED_STACK_KEY in row.desired.definition and row.physical.id
        else row.physical.id
    )
    words = [f"{row.state.action}_{row.state.status}", shown or "-"]
    if row.job.state is not None:
        words.append(row.job.state.name.lower())
        if row.job.state is JobState.AT_BREAKPOINT:
            words.append(str(row.job.hook))
    if row.desired.state is DesiredState.ABSENT:
        words.append("to delete")
    return " ".join(words)


def render_events(environment: SimulatedEnvironment, stack: str) -> Iterator[str]:
    """Yield the events of a stack in their order (memory store only)."""
    tables = getattr(environment.store, "tables", None)
    states = environment.invariant_checker.stack_states.items()
    ids = (key for key, state in states if environment.stack_path(state.stack) == stack)
    found = max(ids, default="")
    for event in tables.events if tables is not None else ():
        if event.stack_id == found:
            yield f"{event.resource_name} {event.action}_{event.status}: {event.reason}"


def _text(value: object) -> str:
    return ",".join(map(str, value)) if isinstance(value, list) else str(value)
