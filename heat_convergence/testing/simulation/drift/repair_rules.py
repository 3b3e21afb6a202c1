"""The rules about repairs that no user has requested, checked before each call to the cloud.

RULE 10: no mass loss is repaired that nobody has confirmed. RULE 13: such repairs stay within
their budget and their number of tries. Called by the invariant checker. Must not read what the
code under test records of its budget: it counts what is really done.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta

from heat_convergence.convergence.drift.policy import AUTOMATIC_REPAIR, RESTORE_ONLY
from heat_convergence.convergence.drift.repair_budget import BUDGET_PERIOD, RepairLimits
from heat_convergence.convergence.invariants.transition import Transition, Violation
from heat_convergence.convergence.model.action import Action
from heat_convergence.convergence.model.resource import Resource
from heat_convergence.testing.simulation.cloud import CloudView

BUDGET_RULE, LOSS_RULE = 13, 10


@dataclass(frozen=True, slots=True)
class _Repair:
    """One repair of one resource, by one traversal."""

    project_id: str
    stack_id: str
    name: str
    version: int
    started_at: datetime


class RepairRules:
    """The repairs of one simulation so far.

    Args:
        limits: the limits that must hold.
        view: what reads show of the cloud.
        start: the time at which the simulation has begun.
        delay_s: the longest time that a read from before a mass loss may count.
    """

    def __init__(
        self, limits: RepairLimits, view: CloudView, start: datetime, delay_s: float
    ) -> None:
        self._limits = limits
        self._view = view
        self._start = start
        self._delay_s = delay_s
        self._repairs: set[_Repair] = set()
        self._destructive: set[_Repair] = set()

    @property
    def repair_count(self) -> int:
        """The number of repairs."""
        return len(self._repairs)

    def check_call(self, step: Transition) -> Iterator[Violation]:
        """Yield the violations of a call that is about to happen."""
        call, stack = step.call, step.after.stack
        row = None if call is None else step.after.by_id.get(call.resource_id)
        if call is None or row is None or stack.started_at is None or not _is_repaired(row):
            return
        if call.action not in (Action.CREATE, Action.UPDATE):
            return
        repair = _Repair(stack.project_id, stack.id, row.name, call.version, stack.started_at)
        if repair not in self._repairs:
            self._repairs.add(repair)
            yield from self._check_tries(repair)
        if call.action is Action.CREATE and repair not in self._destructive:
            self._destructive.add(repair)
            yield from self._check_budget(repair, row)
            yield from self._check_loss(repair)

    def _check_tries(self, repair: _Repair) -> Iterator[Violation]:
        tries = sum(
            (each.stack_id, each.name) == (repair.stack_id, repair.name) for each in self._repairs
        )
        if tries > self._limits.tries:
            yield Violation(BUDGET_RULE, f"{repair.name} is repaired {tries} times")

    def _check_budget(self, repair: _Repair, row: Resource) -> Iterator[Violation]:
        if RESTORE_ONLY in row.desired.hooks_and_restrictions:
            yield Violation(BUDGET_RULE, f"{repair.name} is replaced outside of the budget")
        recent = [
            each
            for each in self._destructive
            if abs(each.started_at - repair.started_at) < BUDGET_PERIOD
            and each.project_id == repair.project_id
        ]
        of_stack = [each for each in recent if each.stack_id == repair.stack_id]
        for found, limit, noun in (
            (recent, self._limits.per_project, "project"),
            (of_stack, self._limits.per_stack, "stack"),
        ):
            if len(found) > limit:
                yield Violation(
                    BUDGET_RULE, f"{len(found)} destructive repairs of a {noun} in an hour"
                )

    def _check_loss(self, repair: _Repair) -> Iterator[Violation]:
        since_s = self._view.unreachable_since_s
        if since_s is None:
            return
        known_at = self._start + timedelta(seconds=since_s + self._delay_s)
        if repair.started_at > known_at:
            yield Violation(
                LOSS_RULE, f"{repair.name} is created anew while a mass loss is not confirmed"
            )


def _is_repaired(row: Resource) -> bool:
    words = row.desired.hooks_and_restrictions
    return any(word.startswith(AUTOMATIC_REPAIR) for word in words)
