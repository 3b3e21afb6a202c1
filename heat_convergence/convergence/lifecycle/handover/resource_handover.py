"""The hand-over of resources: imports, moves and renames in one transaction.

Called by the API when it executes a plan.  The rows get their new places and definitions, and the
goals are reached by traversals without a job: after a crash at any point either all of it has
happened or nothing.  No service is called.  Must not send anything: messages are returned.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from heat_convergence.common import errors
from heat_convergence.convergence.lifecycle import traversal
from heat_convergence.convergence.lifecycle.context import TraversalContext
from heat_convergence.convergence.lifecycle.plan_storage import StartedTraversal
from heat_convergence.convergence.lifecycle.traversal import TraversalRequest
from heat_convergence.convergence.model.action import Action, Status
from heat_convergence.convergence.model.event import Event
from heat_convergence.convergence.model.job import DesiredState
from heat_convergence.convergence.model.resource import Resource
from heat_convergence.convergence.model.resource_columns import get_column, with_columns
from heat_convergence.convergence.model.stack import Stack
from heat_convergence.convergence.planning.desired_state import PlanContext
from heat_convergence.convergence.planning.handover import (
    IMPORTED,
    ExistingObject,
    ResourceMove,
    import_row,
    place_rows,
    settle_rows,
)
from heat_convergence.convergence.ports.store import Transaction

_COLUMNS = (
    "stack_id name root_id type implementation definition definition_hash requires"
    " referenced_names sensitive hooks_and_restrictions applied_hash physical_dependencies"
    " touched_version replaces replaced_by"
).split()
_COMPARED = tuple(name for name in _COLUMNS if name != "definition")  # its hash is compared
_NOT_AT_REST = "the resource is not as the plan expects it"


@dataclass(frozen=True, slots=True)
class Handover:
    """Resources that a plan hands over, and the goals of their stacks.

    Attributes:
        requests: the updates of the stacks, one for each.
        moves: the resources that get another place among these stacks.
        imports: name → object that the first stack imports.
    """

    requests: Sequence[TraversalRequest]
    moves: Sequence[ResourceMove] = ()
    imports: Mapping[str, ExistingObject] = field(default_factory=dict)


def lock_stacks(tx: Transaction, stack_ids: Iterable[str]) -> dict[str, Stack]:
    """Lock several root stacks of one project, in the order of ids.

    Raises:
        EntityNotFound: one of them does not exist any more.
    """
    found: dict[str, Stack] = {}
    for stack_id in sorted(set(stack_ids)):
        stack = tx.stacks.lock(stack_id)
        if stack is None or stack.deleted_at is not None:
            raise errors.EntityNotFound("Stack", stack_id)
        found[stack_id] = stack
    return found


def hand_over(
    tx: Transaction, handover: Handover, context: TraversalContext
) -> list[StartedTraversal]:
    """Give the resources their places and definitions; the stacks are complete afterwards.

    Raises:
        EntityNotFound: there is no such stack.
        ActionInProgress: a stack is not at rest.
        PlanOutdated: a resource would not be left as it is; nothing is done then.
    """
    requests = {each.stack_id: each for each in handover.requests}
    stacks = lock_stacks(tx, requests)
    for stack in stacks.values():
        if stack.in_progress:
            raise errors.ActionInProgress(stack.name, str(stack.action))
    before = {stack_id: tx.resources.lock_by_stack(stack_id) for stack_id in stacks}
    after = place_rows(before, handover.moves)
    _write_rows(tx, before, after, requests, context)
    first = handover.requests[0]
    imported = _import_rows(stacks[first.stack_id], first, handover, context)
    tx.resources.insert(imported)
    events = [
        context.resource_event(row, Action.ADOPT, Status.COMPLETE, IMPORTED) for row in imported
    ]
    tx.events.insert([*events, *_move_events(before, handover.moves, stacks, context)])
    started = [traversal.start_traversal(tx, each, context) for each in handover.requests]
    for stack_id in stacks:
        _require_complete(tx, stack_id)
    return [replace(each, growth=_growth(each, before, requests)) for each in started]


def _growth(
    started: StartedTraversal,
    before: Mapping[str, Sequence[Resource]],
    requests: Mapping[str, TraversalRequest],
) -> int:
    """Return how many resources more than before the stack has."""
    rows = before[started.stack.id]
    present = sum(row.desired.state is DesiredState.PRESENT for row in rows)
    return len(requests[started.stack.id].desired_resources) - present


def _write_rows(
    tx: Transaction,
    before: Mapping[str, Sequence[Resource]],
    after: Mapping[str, Sequence[Resource]],
    requests: Mapping[str, TraversalRequest],
    context: TraversalContext,
) -> None:
    """Write the rows whose place or definition changes, with one prepared statement."""
    stored = {row.id: row for rows in before.values() for row in rows}
    changes: dict[str, Mapping[str, object]] = {}
    for stack_id, rows in after.items():
        for row in settle_rows(rows, requests[stack_id].desired_resources):
            columns = {name: get_column(row, name) for name in _COLUMNS}
            old = stored[row.id]
            if any(columns[name] != get_column(old, name) for name in _COMPARED):
                changes[row.id] = {**columns, "updated_at": context.now}
    tx.resources.update_each(changes)


def _import_rows(
    stack: Stack, request: TraversalRequest, handover: Handover, context: TraversalContext
) -> list[Resource]:
    plan_context = PlanContext.of_next_update(stack, context.now, context.ids)
    return [
        import_row(request.desired_resources[name], existing, plan_context)
        for name, existing in sorted(handover.imports.items())
    ]


def _move_events(
    before: Mapping[str, Sequence[Resource]],
    moves: Sequence[ResourceMove],
    stacks: Mapping[str, Stack],
    context: TraversalContext,
) -> Iterator[Event]:
    """Yield an event for the old place and one for the new place of each resource."""
    rows = {(row.stack_id, row.name): row for some in before.values() for row in some}
    placed = place_rows(before, moves)
    by_id = {row.id: row for some in placed.values() for row in some}
    for each in moves:
        old = rows[each.source_id, each.source_name]
        new = by_id[old.id]
        for row, reason in (
            (old, f"moved to {stacks[new.stack_id].name}/{new.name}"),
            (new, f"moved from {stacks[old.stack_id].name}/{old.name}"),
        ):
            shown = with_columns(row, version=stacks[row.stack_id].version + 1)
            yield context.resource_event(shown, Action.UPDATE, Status.COMPLETE, reason)


def _require_complete(tx: Transaction, stack_id: str) -> None:
    """Refuse a hand-over that leaves something to do.

    Raises:
        PlanOutdated: the stack is not complete at once.
    """
    stack = tx.stacks.lock(stack_id)
    if stack is None or stack.status is Status.COMPLETE:
        return
    rows = [row for row in tx.resources.lock_by_stack(stack_id) if row.job.verb is not None]
    raise errors.PlanOutdated(
        [_difference(stack.name, row.name, _NOT_AT_REST) for row in rows]
        or [_difference(stack.name, "", "the stack is not complete")]
    )


def _difference(stack_name: str, resource_name: str, reason: str) -> dict[str, str]:
    return {"stack_name": stack_name, "resource_name": resource_name, "reason": reason}
