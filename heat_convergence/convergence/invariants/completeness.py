"""Rules 7 and 10: COMPLETE means at the goal, and a stack at rest stays at rest."""

from __future__ import annotations

from collections.abc import Mapping

from heat_convergence.convergence.invariants.transition import (
    ActualResource,
    Transition,
    ViolationMessages,
    describe,
)
from heat_convergence.convergence.model.action import Action, Status
from heat_convergence.convergence.model.job import DesiredState, JobState
from heat_convergence.convergence.model.json_value import Json

_RESUMING_ACTIONS = frozenset(
    {Action.CREATE, Action.UPDATE, Action.ROLLBACK, Action.RESTORE, Action.RESUME}
)
_VERB_ACTIONS = frozenset({Action.SUSPEND, Action.RESUME, Action.CHECK, Action.SNAPSHOT})


def rule_7(step: Transition) -> ViolationMessages:
    """RULE 7: COMPLETE only when reality equals the template and nothing else is left."""
    stack = step.after.stack
    just_now = step.before is None or step.before.stack.in_progress
    if stack.status is not Status.COMPLETE or not just_now:
        return
    # SUSPEND, RESUME and CHECK leave unfinished work of an earlier update to the next one.
    verb = stack.action in _VERB_ACTIONS
    for row in step.after.resources:
        if row.id in step.after.quarantined:
            continue  # listed where the user sees it
        if row.job.verb is not None and not (verb and row.job.state is JobState.CANCELLED):
            yield f"stack {stack.name} is COMPLETE and {describe(row)} has a job"
        if row.desired.state is DesiredState.ABSENT and not verb:
            yield f"stack {stack.name} is COMPLETE and {describe(row)} is left over"
    yield from _wrongly_suspended(step)
    if step.expected_properties is not None:
        yield from _differences(step, step.expected_properties)


def _wrongly_suspended(step: Transition) -> ViolationMessages:
    stack = step.after.stack
    present = {row.id for row in step.after.resources if row.desired.state is DesiredState.PRESENT}
    for actual in step.existing_resources:
        if actual.resource_id not in present or actual.changed_externally:
            continue
        if stack.action is Action.SUSPEND and not actual.suspended:
            yield f"stack {stack.name} is suspended, but {actual.id} runs"
        if stack.action in _RESUMING_ACTIONS and actual.suspended:
            yield f"stack {stack.name} is at its goal, and {actual.id} is suspended"


def _differences(
    step: Transition, expected: Mapping[str, Mapping[str, Json] | None]
) -> ViolationMessages:
    rows = {
        row.name: row for row in step.after.resources if row.desired.state is DesiredState.PRESENT
    }
    if len(rows) != len(
        [row for row in step.after.resources if row.desired.state is DesiredState.PRESENT]
    ):
        yield "a resource exists in more than one incarnation"
    if set(rows) != set(expected):
        yield f"there are {sorted(rows)}, the template has {sorted(expected)}"
    for name, properties in sorted(expected.items()):
        row = rows.get(name)
        actual = step.actual_resources.get((row.physical.id if row else None) or "")
        if (
            row is None
            or properties is None
            or (actual is not None and _changed_externally(actual, step))
        ):
            continue
        if actual is None or not actual.exists:
            yield f"{describe(row)} does not exist: {row.physical.id}"
        elif dict(actual.properties) != dict(properties):
            yield f"{describe(row)} is {dict(actual.properties)}, should be {dict(properties)}"
        elif not actual.ready:
            yield f"{describe(row)} is not ready"
    known = {row.physical.id for row in rows.values()}
    for actual in step.existing_resources:
        if actual.id not in known and actual.resource_id not in step.after.quarantined:
            yield f"{actual.id} is left over"


def _changed_externally(actual: ActualResource, step: Transition) -> bool:
    """Return whether others changed it or a resource that its properties use."""
    return actual.changed_externally or any(
        used in step.actual_resources and step.actual_resources[used].changed_externally
        for used in actual.used_ids
    )


def rule_10(step: Transition) -> ViolationMessages:
    """RULE 10: an observation does not start jobs in a stack at rest."""
    before = step.before
    if before is None or before.stack.in_progress:
        return
    if step.after.stack.version != before.stack.version:
        return
    known = before.by_id
    for row in step.after.resources:
        was = known.get(row.id)
        if was is None:
            yield f"{describe(row)} appeared in a stack at rest"
        elif was.job.verb is None and row.job.verb is not None:
            yield f"{describe(row)} was given a job in a stack at rest"
