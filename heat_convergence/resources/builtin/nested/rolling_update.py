"""Arithmetic of rolling updates: the number of members that change at once, and which.

Called by groups for every step of a rolling update with the members that exist, so that a step
that is repeated after a crash has the same result. Pure functions.

Source: docs/reference/resource-groups.rst, "Batch arithmetic".
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from heat_convergence.common.errors import StackValidationFailed

Json = Any


@dataclass(frozen=True, slots=True)
class RollingUpdatePolicy:
    """Limits of a rolling update, with a pause in seconds between batches."""

    batch_size: int = 1
    min_in_service: int = 0
    pause_s: float = 0.0

    def check_timeout(self, target: int, timeout_s: float | None) -> None:
        """Check that the pauses fit into the action's timeout.

        Raises:
            StackValidationFailed: They do not.
        """
        pauses_s = self.pause_s * max(math.ceil(target / self.batch_size) - 1, 0)
        if timeout_s is not None and pauses_s >= timeout_s > 0:
            raise StackValidationFailed(
                f"pauses of {pauses_s:g} seconds in all do not fit into the stack's"
                f" timeout of {timeout_s:g} seconds"
            )

    @classmethod
    def from_policy(cls, section: Mapping[str, Json]) -> RollingUpdatePolicy:
        """Read an update policy's section, or a property of the same form."""
        return cls(
            batch_size=int(section.get("max_batch_size") or 1),
            min_in_service=int(section.get("min_in_service") or 0),
            pause_s=float(section.get("pause_time") or 0),
        )


@dataclass(frozen=True, slots=True)
class Batch:
    """The next step: members after it, and how many of them get the new definition."""

    group_size: int
    updated_count: int


def compute_next_batch(
    target: int, current: int, updated: int, policy: RollingUpdatePolicy
) -> Batch | None:
    """Return the next step, or None when the update is complete.

    Args:
        target: The number of members at the end.
        current: The number of members now.
        updated: How many of the target's members have the new definition.
        policy: The limits.
    """
    if updated >= current == target:
        return None
    batch = min(policy.batch_size, max(target - updated, 0))
    floor = min(policy.min_in_service, target, current)
    return Batch(batch + max(min(current, target - batch), floor), batch)


def roll_by_name(
    old: Mapping[str, Json],
    new: Callable[[str], Json],
    target: Sequence[str],
    name_of: Callable[[int], str],
    policy: RollingUpdatePolicy,
) -> tuple[dict[str, Json], bool]:
    """Return the members after the next batch, and whether another follows.

    Args:
        old: Name → current definition.
        new: Returns a member's new definition.
        target: The names at the end.
        name_of: Returns the n-th name that may be used.
        policy: The limits.
    """
    done = {name for name in target if name in old and old[name] == new(name)}
    found = compute_next_batch(len(target), len(old), len(done), policy)
    if found is None:
        return {name: new(name) for name in target}, False
    names = [name_of(at) for at in range(found.group_size)]
    chosen = _chosen(names, old, new, target, found.updated_count)
    members = {name: new(name) if name in chosen else old[name] for name in names}
    left = {name for name in target if name in members and members[name] == new(name)}
    return members, compute_next_batch(len(target), len(members), len(left), policy) is not None


def roll_by_order(
    old: Mapping[str, Json],
    new: Json,
    target: int,
    policy: RollingUpdatePolicy,
    next_name: Callable[[], str],
) -> dict[str, Json]:
    """Return the members after the next batch, where names do not decide which stay.

    Members beyond ``target`` count as not updated.

    Args:
        old: Name → current definition, in the order in which members change and are removed.
        new: The new definition.
        target: The number of members at the end.
        policy: The limits.
        next_name: Returns a new member's name.
    """
    current = len(old)
    done = sum(each == new for each in old.values()) - max(current - target, 0)
    found = compute_next_batch(target, current, max(done, 0), policy)
    if found is None:
        return dict.fromkeys(old, new)
    members = dict(list(old.items())[max(current - found.group_size, 0) :])
    added = [next_name() for _ in range(found.group_size - len(members))]
    outdated = [name for name in members if members[name] != new]
    changed = outdated[: max(found.updated_count - len(added), 0)]
    return {**members, **dict.fromkeys([*changed, *added], new)}


def _chosen(
    names: Sequence[str],
    old: Mapping[str, Json],
    new: Callable[[str], Json],
    target: Collection[str],
    batch: int,
) -> set[str]:
    """Return new members, then members to be removed, then others from the last to the first."""
    added = [name for name in names if name not in old]
    outdated = [name for name in reversed(names) if name in old and old[name] != new(name)]
    leaving = [name for name in outdated if name not in target]
    staying = [name for name in outdated if name in target]
    room = max(batch - len(added), 0)
    return {*added, *(leaving + staying)[:room]}
