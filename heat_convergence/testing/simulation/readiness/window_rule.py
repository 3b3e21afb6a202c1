"""RULE 7 for stabilization windows: complete only when all have been healthy for their windows.

Checked after each commit, by the template, the clock and the cloud's own account.  Must not read
the times that the code under test has stored.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping

from heat_convergence.convergence.invariants.transition import Transition, Violation
from heat_convergence.convergence.model.action import Action, Status
from heat_convergence.convergence.model.job import DesiredState
from heat_convergence.convergence.model.resource import Resource
from heat_convergence.convergence.model.stack import Stack
from heat_convergence.template.environment.readiness import ReadinessLevel
from heat_convergence.testing.simulation.cloud import SimulatedCloud
from heat_convergence.testing.simulation.workload.template_notation import (
    TYPE_NAMES,
    TemplateSpec,
)

WINDOW_RULE = 7
COMPLETE_AFTER_WINDOW = "complete after a stabilization window"
FAILED_IN_WINDOW = "failed in a stabilization window"
_STAGED = "Staged"


class WindowRule:
    """The rule, with the time since which stacks have nothing left to do but wait.

    Args:
        template_of: returns the template of a stack's goal.
        cloud: the cloud.
        elapsed_s: returns the simulated time in seconds.
        occurrences: counts the stacks that a window has made wait.
    """

    def __init__(
        self,
        template_of: Callable[[Stack], TemplateSpec],
        cloud: SimulatedCloud,
        elapsed_s: Callable[[], float],
        occurrences: Counter[str],
    ) -> None:
        self._template_of = template_of
        self._cloud = cloud
        self._elapsed_s = elapsed_s
        self._occurrences = occurrences
        self._ready_at_s: dict[tuple[str, int], float] = {}

    def check_commit(self, step: Transition) -> Iterator[Violation]:
        """Yield the violations of a stack that has become complete."""
        before, stack = step.before, step.after.stack
        key = (stack.id, stack.version)
        if stack.in_progress:
            if all(row.job.verb is None for row in step.after.resources):
                self._ready_at_s.setdefault(key, self._elapsed_s())
            return
        is_end = before is not None and before.stack.in_progress
        if not is_end or before is None or before.stack.version != stack.version:
            return
        if stack.action not in (Action.CREATE, Action.UPDATE):
            return
        ready_at_s = self._ready_at_s.get(key)
        if stack.status is not Status.COMPLETE:
            self._occurrences[FAILED_IN_WINDOW] += ready_at_s is not None
            return
        windows = self._windows_of(stack)
        if windows:
            self._occurrences[COMPLETE_AFTER_WINDOW] += 1
            yield from self._check_time(stack, windows, ready_at_s)
            yield from self._check_health(step, windows, ready_at_s or 0.0)

    def _windows_of(self, stack: Stack) -> Mapping[str, int]:
        """Return the windows of the stack's resources by name."""
        return {
            name: spec.stabilization
            for name, spec in self._template_of(stack).items()
            if spec.stabilization and spec.type_alias in TYPE_NAMES
        }

    def _check_time(
        self, stack: Stack, windows: Mapping[str, int], ready_at_s: float | None
    ) -> Iterator[Violation]:
        longest_s = max(windows.values())
        waited_s = 0.0 if ready_at_s is None else self._elapsed_s() - ready_at_s
        if waited_s < longest_s - 0.001:
            message = f"stack {stack.name} is COMPLETE after {waited_s:g} of {longest_s} s"
            yield Violation(WINDOW_RULE, message)

    def _check_health(
        self, step: Transition, windows: Mapping[str, int], ready_at_s: float
    ) -> Iterator[Violation]:
        for row in step.after.resources:
            window_s = windows.get(row.name)
            if window_s is None or row.desired.state is not DesiredState.PRESENT:
                continue
            since_s = self._unhealthy_since_s(step, row)
            if since_s is not None and since_s <= ready_at_s + window_s:
                message = f"stack {step.after.stack.name} is COMPLETE, and {row.name} was not"
                yield Violation(WINDOW_RULE, f"{message} healthy since {since_s:g} s")

    def _unhealthy_since_s(self, step: Transition, row: Resource) -> float | None:
        """Return since when a resource is not healthy; None if it is, or nobody can know."""
        found = self._cloud.objects.get(row.physical.id or "")
        actual = step.actual_resources.get(row.physical.id or "")
        if found is None or actual is None or not actual.exists or actual.changed_externally:
            return None
        if found.type != TYPE_NAMES[_STAGED]:
            return None
        if self._cloud.level_of(found) is ReadinessLevel.HEALTHY:
            return None
        return found.degraded_from_s if self._cloud.is_degraded(found) else 0.0
