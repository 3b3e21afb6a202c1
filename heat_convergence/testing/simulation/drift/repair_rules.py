"""The rules about repairs that no user has requested, checked before each call to the cloud.

RULE 10: no mass loss is repaired that nobody has confirmed, and nothing that exists is created
anew. RULE 13: such repairs stay within their budget and their number of tries. RULE 14: they start
inside of their window. RULE 15: each has an end, recorded and announced, which ``drift_runs``
checks when all is quiet. Called by the invariant checker. Must not read what the code under test
records of its budget: it counts what is really done.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime

from heat_convergence.convergence.drift.policy import RESTORE_ONLY, is_repaired
from heat_convergence.convergence.drift.repair_budget import BUDGET_PERIOD, RepairLimits
from heat_convergence.convergence.invariants.transition import Transition, Violation
from heat_convergence.convergence.model.action import Action
from heat_convergence.convergence.model.resource import Resource
from heat_convergence.testing.simulation.cloud_reads.cloud_view import CloudView
from heat_convergence.testing.simulation.drift.loss_rule import LOSS_RULE, MassLossRule

BUDGET_RULE, WINDOW_RULE, END_RULE = 13, 14, 15


def _ignore_start(_stack_id: str) -> None:
    """Do nothing."""


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
        loss_rule: the mass losses that can be known.

    Attributes:
        on_start: called with the id of a stack when a repair makes its first call.
    """

    def __init__(self, limits: RepairLimits, view: CloudView, loss_rule: MassLossRule) -> None:
        self._limits = limits
        self._view = view
        self._loss_rule = loss_rule
        self._repairs: set[_Repair] = set()
        self._destructive: set[_Repair] = set()
        self.on_start: Callable[[str], None] = _ignore_start

    @property
    def repair_count(self) -> int:
        """The number of repairs."""
        return len(self._repairs)

    @property
    def repaired(self) -> set[tuple[str, int, str]]:
        """The stack, the version and the resource of each repair."""
        return {(each.stack_id, each.version, each.name) for each in self._repairs}

    def check_call(self, step: Transition) -> Iterator[Violation]:
        """Yield the violations of a call that is about to happen."""
        call, stack = step.call, step.after.stack
        row = None if call is None else step.after.by_id.get(call.resource_id)
        if (
            call is None
            or row is None
            or stack.started_at is None
            or not is_repaired(row.desired.hooks_and_restrictions)
        ):
            return
        if call.action not in (Action.CREATE, Action.UPDATE):
            return
        repair = _Repair(stack.project_id, stack.id, row.name, call.version, stack.started_at)
        if repair not in self._repairs:
            self._repairs.add(repair)
            self.on_start(repair.stack_id)
            yield from self._check_tries(repair)
            yield from self._check_window(repair)
        if call.action is Action.CREATE and repair not in self._destructive:
            self._destructive.add(repair)
            yield from self._check_budget(repair, row)
            yield from self._check_loss(repair)
            yield from self._check_missing(repair, step)

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

    def _check_window(self, repair: _Repair) -> Iterator[Violation]:
        """Check the start against a window that opens every so many full minutes."""
        window = self._limits.window
        if window is None:
            return
        minutes = int(window.cron.split()[0].removeprefix("*/"))
        time = repair.started_at
        open_s = time.minute % minutes * 60 + time.second + time.microsecond / 1e6
        if open_s >= window.duration_s:
            yield Violation(
                WINDOW_RULE, f"{repair.name} is repaired at {time}, outside of {window}"
            )

    def _check_missing(self, repair: _Repair, step: Transition) -> Iterator[Violation]:
        """Check that what every read of it has shown in order is not created anew."""
        for row in step.after.resources:
            found = self._view.cloud.get(row.physical.id) if row.name == repair.name else None
            if found is None or found.in_error or self._view.cloud.is_deleting(found):
                continue
            if found.id not in self._view.hidden_ids:
                yield Violation(
                    LOSS_RULE, f"{repair.name} is created anew although {found.id} exists"
                )

    def _check_loss(self, repair: _Repair) -> Iterator[Violation]:
        if self._loss_rule.is_known(repair.started_at):
            yield Violation(
                LOSS_RULE, f"{repair.name} is created anew while a mass loss is not confirmed"
            )
