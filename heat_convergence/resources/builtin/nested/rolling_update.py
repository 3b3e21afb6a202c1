"""How many members of a group change at once, and which: pure arithmetic.

Called by groups for every step of a rolling change, with what is there then, so that
a step that is taken again after a crash comes to the same.  Source: heat-facts
``resource_groups.md``, "Batch arithmetic".
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
    """Bounds of a rolling change; ``pause_s`` between two batches."""

    batch_size: int = 1
    min_in_service: int = 0
    pause_s: float = 0.0

    def check_timeout(self, target: int, timeout_s: float | None) -> None:
        """Raises ``StackValidationFailed`` when the pauses alone outlast the action."""
        pauses_s = self.pause_s * max(math.ceil(target / self.batch_size) - 1, 0)
        if timeout_s is not None and pauses_s >= timeout_s > 0:
            raise StackValidationFailed(
                f"pauses of {pauses_s:g} seconds in all do not fit into the stack's"
                f" timeout of {timeout_s:g} seconds"
            )

    @classmethod
    def from_policy(cls, policy: Mapping[str, Json]) -> RollingUpdatePolicy:
        """From an update policy's section or a property of the same form."""
        return cls(
            batch_size=int(policy.get("max_batch_size") or 1),
            min_in_service=int(policy.get("min_in_service") or 0),
            pause_s=float(policy.get("pause_time") or 0),
        )


@dataclass(frozen=True, slots=True)
class Batch:
    """``size``: members after the step; ``batch``: how many get the new definition."""

    group_size: int
    updated_count: int


def compute_next_batch(
    target: int, current: int, updated: int, pace: RollingUpdatePolicy
) -> Batch | None:
    """None when nothing is left to do; ``updated`` of the target's members are done."""
    if updated >= current == target:
        return None
    batch = min(pace.batch_size, max(target - updated, 0))
    floor = min(pace.min_in_service, target, current)
    return Batch(batch + max(min(current, target - batch), floor), batch)


def roll_by_name(
    old: Mapping[str, Json],
    new: Callable[[str], Json],
    target: Sequence[str],
    name_of: Callable[[int], str],
    pace: RollingUpdatePolicy,
) -> tuple[dict[str, Json], bool]:
    """Members after the next batch, and whether another follows.

    ``old`` are definitions by name, ``new`` gives a name's new one, ``target`` the
    names at the end, ``name_of`` the n-th name that may be used.
    """
    done = {name for name in target if name in old and old[name] == new(name)}
    found = compute_next_batch(len(target), len(old), len(done), pace)
    if found is None:
        return {name: new(name) for name in target}, False
    names = [name_of(at) for at in range(found.group_size)]
    chosen = _chosen(names, old, new, target, found.updated_count)
    members = {name: new(name) if name in chosen else old[name] for name in names}
    left = {name for name in target if name in members and members[name] == new(name)}
    return members, compute_next_batch(len(target), len(members), len(left), pace) is not None


def roll_by_order(
    old: Mapping[str, Json],
    new: Json,
    target: int,
    pace: RollingUpdatePolicy,
    fresh: Callable[[], str],
) -> dict[str, Json]:
    """Members after the next batch, where names do not say who is to stay.

    ``old`` are definitions in the order in which members change and go; of members
    beyond ``target``, as many count as not done.  ``fresh`` gives another name.
    """
    current = len(old)
    done = sum(each == new for each in old.values()) - max(current - target, 0)
    found = compute_next_batch(target, current, max(done, 0), pace)
    if found is None:
        return dict.fromkeys(old, new)
    members = dict(list(old.items())[max(current - found.group_size, 0) :])
    added = [fresh() for _ in range(found.group_size - len(members))]
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
    """Those added, then those that are to vanish, then from the last to the first."""
    added = [name for name in names if name not in old]
    outdated = [name for name in reversed(names) if name in old and old[name] != new(name)]
    vanishing = [name for name in outdated if name not in target]
    staying = [name for name in outdated if name in target]
    room = max(batch - len(added), 0)
    return {*added, *(vanishing + staying)[:room]}
