"""The state that a plan was made from, and its difference from a later one.

Called by the API when it makes a plan and before it executes one. Reads nothing but its
arguments.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence

from heat_convergence.convergence.drift.observation import DRIFTED
from heat_convergence.convergence.drift.repair_preview import RepairableResource
from heat_convergence.convergence.model.json_value import Json
from heat_convergence.convergence.model.resource import Resource
from heat_convergence.convergence.model.stack import Stack

CapturedState = Mapping[str, Json]
_STACKS, _RESOURCES, _DEFINITIONS = "stacks", "resources", "definitions"


def capture_state(
    stacks: Iterable[Stack],
    rows: Iterable[Resource],
    observed: Iterable[RepairableResource],
) -> CapturedState:
    """Return what a plan depends on: versions of stacks, resources and observed drift.

    Args:
        stacks: the stack and its nested stacks.
        rows: all their resources.
        observed: the same resources with what was observed last.
    """
    names = {each.id: each.name for each in stacks}
    drift = {(each.stack_id, each.name): _observed_digest(each) for each in observed}
    return {
        _STACKS: {each.id: [each.name, _stack_state(each)] for each in stacks},
        _RESOURCES: {
            row.id: [
                names.get(row.stack_id, ""),
                row.name,
                _digest(row_state(row)),
                drift.get((row.stack_id, row.name), ""),
            ]
            for row in rows
        },
    }


def capture_definitions(definitions: Mapping[str, Sequence[Json]]) -> CapturedState:
    """Return digests of what a plan wants of each resource of its stack, by name."""
    return {_DEFINITIONS: {name: _digest(each) for name, each in definitions.items()}}


def row_state(row: Resource) -> Sequence[Json]:
    """Return the columns whose change makes a plan outdated."""
    updated_at = row.state.updated_at
    return [
        row.id,
        row.job.version,
        row.job.verb,
        row.desired.state,
        row.desired.definition_hash,
        row.state.action,
        row.state.status,
        None if updated_at is None else updated_at.isoformat(),
        row.physical.id,
        row.physical.applied_hash,
        row.physical.properties_hash,
        row.physical.suspended,
    ]


def list_differences(planned: CapturedState, current: CapturedState) -> list[dict[str, Json]]:
    """Return what has changed since a plan was made; empty if it still holds.

    Args:
        planned: the state that the plan was made from, perhaps with definitions.
        current: a later state, with the same parts or fewer.
    """
    found: list[dict[str, Json]] = []
    if _STACKS in current:
        found.extend(_stack_differences(planned[_STACKS], current[_STACKS]))
        found.extend(_resource_differences(planned[_RESOURCES], current[_RESOURCES]))
    if _DEFINITIONS in current:
        changed = _changed_keys(planned[_DEFINITIONS], current[_DEFINITIONS])
        found.extend(
            _difference("", name, "what its definition refers to has changed") for name in changed
        )
    return found


def list_own_differences(planned: CapturedState, current: CapturedState) -> list[dict[str, Json]]:
    """Return what has changed in rows of ``current``, as far as actions can change it.

    Called with the rows of one stack while it is locked; other stacks may be missing, and drift.
    """
    found = list(_stack_differences(_common(planned[_STACKS], current[_STACKS]), current[_STACKS]))
    before, after = planned[_RESOURCES], current[_RESOURCES]
    known = {key: [*before[key][:3], after[key][3]] for key in before.keys() & after.keys()}
    return [*found, *_resource_differences(known, after)]


def _common(planned: CapturedState, current: CapturedState) -> CapturedState:
    return {key: planned[key] for key in planned.keys() & current.keys()}


def _stack_differences(before: CapturedState, after: CapturedState) -> Iterator[dict[str, Json]]:
    for key in _changed_keys(before, after):
        name = (before.get(key) or after[key])[0]
        old = before[key][1] if key in before else "absent"
        new = after[key][1] if key in after else "absent"
        yield _difference(name, "", f"the stack was {old} and is {new}")


def _resource_differences(
    before: CapturedState, after: CapturedState
) -> Iterator[dict[str, Json]]:
    for key in _changed_keys(before, after):
        old, new = before.get(key), after.get(key)
        if old is None or new is None:
            stack_name, name = (old or new or ["", ""])[:2]
            reason = "the resource is new" if old is None else "the resource does not exist"
        else:
            stack_name, name = new[:2]
            observed_only = old[2] == new[2]
            reason = (
                "others have changed it: another state was observed"
                if observed_only
                else "another action has changed the resource"
            )
        yield _difference(stack_name, name, reason)


def _changed_keys(before: CapturedState, after: CapturedState) -> list[str]:
    keys = before.keys() | after.keys()
    return sorted(key for key in keys if before.get(key) != after.get(key))


def _difference(stack_name: str, resource_name: str, reason: str) -> dict[str, Json]:
    return {"stack_name": stack_name, "resource_name": resource_name, "reason": reason}


def _stack_state(stack: Stack) -> str:
    return f"{stack.action}_{stack.status} in version {stack.version}"


def _observed_digest(resource: RepairableResource) -> str:
    """Return a digest of the drift; empty as long as none was observed."""
    if resource.status not in DRIFTED:
        return ""
    return _digest([resource.status, [dict(each) for each in resource.properties]])


def _digest(value: Json) -> str:
    text = json.dumps(value, sort_keys=True, default=str)
    return hashlib.sha256(text.encode()).hexdigest()[:20]
