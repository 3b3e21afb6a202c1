"""The estimated duration of a plan: its critical path, by the history of resource types.

Called by the API when it makes a plan. Reads nothing but its arguments. Takes every job to start
as soon as what it needs is ready.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass

from heat_convergence.convergence.model.action import Action
from heat_convergence.convergence.plans.stored_plan import PlannedEffect

_ACTIONS: Mapping[PlannedEffect, Action] = {
    PlannedEffect.ADD: Action.CREATE,
    PlannedEffect.UPDATE: Action.UPDATE,
    PlannedEffect.REPLACE: Action.CREATE,
    PlannedEffect.DELETE: Action.DELETE,
}
TypeHistory = Mapping[tuple[str, str], float]
"""Seconds that an action took on average, by implementation and action."""


@dataclass(frozen=True, slots=True)
class PlannedStep:
    """The work on one resource.

    Attributes:
        path: names of the resources above it and its own, joined by ``/``.
        requires: names of the resources of its stack that must be ready before.
    """

    path: str
    implementation: str
    effect: PlannedEffect
    requires: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class DurationEstimate:
    """An estimate.

    Attributes:
        seconds: None if nothing is known of any of the steps.
        unknown_count: steps of whose type and action nothing is known; they count as 0.
    """

    seconds: float | None
    unknown_count: int


def estimate_duration(steps: Iterable[PlannedStep], history: TypeHistory) -> DurationEstimate:
    """Return the length of the critical path through all steps.

    A resource with a nested stack takes as long as that stack.
    """
    working = [each for each in steps if each.effect in _ACTIONS]
    children: dict[str, list[PlannedStep]] = {}
    for step in working:
        children.setdefault(step.path.rpartition("/")[0], []).append(step)
    leaves = [each for each in working if each.path not in children]
    unknown = sum((each.implementation, _ACTIONS[each.effect]) not in history for each in leaves)
    if working and unknown == len(leaves):
        return DurationEstimate(None, unknown)
    durations: dict[str, float] = {}
    for parent in sorted(children, key=lambda path: -path.count("/") if path else 1):
        durations[parent] = _stack_duration(children[parent], durations, history)
    return DurationEstimate(durations.get("", 0.0), unknown)


def _stack_duration(
    steps: Iterable[PlannedStep], nested: Mapping[str, float], history: TypeHistory
) -> float:
    """Return how long the steps of one stack take; deletions come after the others."""
    by_name = {each.path.rpartition("/")[2]: each for each in steps}

    def own(step: PlannedStep) -> float:
        key = (step.implementation, _ACTIONS[step.effect])
        return nested.get(step.path, history.get(key, 0.0))

    present = {
        name: each for name, each in by_name.items() if each.effect is not PlannedEffect.DELETE
    }
    absent = {name: each for name, each in by_name.items() if name not in present}
    durations = {name: own(each) for name, each in by_name.items()}
    return sum(
        longest_path({name: each.requires for name, each in some.items()}, durations)
        for some in (present, absent)
    )


def longest_path(
    requirements: Mapping[str, Collection[str]], durations: Mapping[str, float]
) -> float:
    """Return the longest sum of durations along requirements, without recursion.

    Args:
        requirements: name → the names that it needs; those without an entry are ready.
        durations: name → seconds.
    """
    ends: dict[str, float] = {}
    for first in sorted(requirements):
        pending = [first]
        while pending:
            name = pending[-1]
            needed = set(requirements[name]) & requirements.keys()
            missing = needed - ends.keys()
            if missing and name not in ends and not missing & set(pending):
                pending.extend(sorted(missing))
                continue
            starts = max((ends.get(each, 0.0) for each in needed), default=0.0)
            ends[name] = starts + durations[name]
            pending.pop()
    return max(ends.values(), default=0.0)
