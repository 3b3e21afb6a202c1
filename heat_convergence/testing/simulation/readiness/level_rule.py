"""RULE 2 for readiness levels: no dependent starts before the level that it needs.

Checked before each call to the cloud, by the template and the cloud's own account.  Must not read
the levels that the code under test has stored.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator

from heat_convergence.convergence.invariants.transition import Transition, Violation
from heat_convergence.convergence.model.action import Action
from heat_convergence.convergence.model.job import DesiredState, Verb
from heat_convergence.convergence.model.resource import Resource
from heat_convergence.convergence.model.stack import Stack
from heat_convergence.template.environment.readiness import ReadinessLevel
from heat_convergence.testing.simulation.workload.template_notation import (
    ResourceSpec,
    TemplateSpec,
)

LEVEL_RULE = 2
STARTED_EARLY = "started before a requirement was active"
_STAGED = "Staged"
_LEVELS = {"Immutable": ReadinessLevel.EXISTS, "Signalled": ReadinessLevel.HEALTHY}


def needed_level(dependent: ResourceSpec, requirement: ResourceSpec) -> ReadinessLevel:
    """Return the level of a requirement before which its dependent must not start."""
    if requirement.type_alias != _STAGED:
        return ReadinessLevel.ACTIVE
    level = _LEVELS.get(dependent.type_alias, ReadinessLevel.CONFIGURED)
    waits = requirement.name in (*dependent.attributes, *dependent.depends_on)
    held = any(hook.startswith("post-") for hook in requirement.hooks)
    if (waits or held) and level is not ReadinessLevel.HEALTHY:
        level = ReadinessLevel.ACTIVE
    demanded = ReadinessLevel(requirement.readiness or ReadinessLevel.EXISTS)
    return level if level.includes(demanded) else demanded


class LevelRule:
    """The rule, with the templates of stacks.

    Args:
        template_of: returns the template of a stack's goal.
        occurrences: counts the resources that start before a requirement is active.
    """

    def __init__(
        self, template_of: Callable[[Stack], TemplateSpec], occurrences: Counter[str]
    ) -> None:
        self._template_of = template_of
        self._occurrences = occurrences

    def check_call(self, step: Transition) -> Iterator[Violation]:
        """Yield the violations of a call that is about to happen."""
        call, stack = step.call, step.after.stack
        row = None if call is None else step.after.by_id.get(call.resource_id)
        if call is None or row is None or call.version != stack.version:
            return
        if call.action not in (Action.CREATE, Action.UPDATE) or row.job.verb is not Verb.CONVERGE:
            return
        template = self._template_of(stack)
        dependent = template.get(row.name)
        for name in sorted(dependent.requires) if dependent is not None else ():
            requirement = template.get(name)
            if dependent is not None and requirement is not None:
                needed = needed_level(dependent, requirement)
                yield from self._check(step, row, requirement, needed)

    def _check(
        self, step: Transition, row: Resource, requirement: ResourceSpec, needed: ReadinessLevel
    ) -> Iterator[Violation]:
        for other in step.after.resources:
            serves = other.name == requirement.name and other.desired.state is DesiredState.PRESENT
            actual = step.actual_resources.get(other.physical.id or "") if serves else None
            if actual is None or not actual.exists or actual.changed_externally:
                continue
            level = actual.level  # of before an error, which the service may not have seen
            if level is None or not level.includes(needed):
                message = f"{row.name} ({row.id}) starts while {other.name} is {level}"
                yield Violation(LEVEL_RULE, f"{message}, and it needs {needed}")
            elif not level.includes(ReadinessLevel.ACTIVE):
                self._occurrences[STARTED_EARLY] += 1
