"""How the stacks behind resources look: ``traversal.NestedStatusReader`` for the observer.

Reads rows of the database only, inside the transaction in which it matters; a
stack that is still at work costs one statement.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

from heat_convergence.common.clock import Clock
from heat_convergence.common.errors import RowsContradict
from heat_convergence.convergence.lifecycle.retries import Observation
from heat_convergence.convergence.model.action import Action, Status
from heat_convergence.convergence.model.goal import Goal
from heat_convergence.convergence.model.job import DesiredState, ObservedState, Verb
from heat_convergence.convergence.model.resource import InputResource, Resource
from heat_convergence.convergence.model.stack import Stack
from heat_convergence.convergence.ports.store import Transaction
from heat_convergence.resources.nested.nested_type import NestedStackView, NestedType
from heat_convergence.resources.nested.template_cache import TemplateCache
from heat_convergence.resources.protocol.resource_context import RowInputs
from heat_convergence.resources.registry import ResourceTypeRegistry
from heat_convergence.stacks.goal.desired_resources import stored_attribute_paths
from heat_convergence.template.evaluation.output_definition import OutputDefinition
from heat_convergence.template.evaluation.references import referenced_resources
from heat_convergence.template.functions.function import NO_FUNCTIONS, Function
from heat_convergence.template.limits import DEFAULT_LIMITS, TemplateLimits

SUPERSEDED_REASON = "another request came over the nested stack's "  # and what was to be done
_MEMBER_FAILED = re.compile(r"Resource \w+ failed: (\w+): (resources\..*)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class NestedStackObserver:
    """``convergence.traversal.NestedStatusReader``."""

    registry: ResourceTypeRegistry
    clock: Clock
    limits: TemplateLimits = DEFAULT_LIMITS
    functions: Mapping[str, Function] = field(default_factory=lambda: NO_FUNCTIONS)
    template_cache: TemplateCache = field(default_factory=TemplateCache)

    def __call__(self, tx: Transaction, rows: Sequence[Resource]) -> Mapping[str, Observation]:
        kinds = {row.id: self.registry.find(row.implementation) for row in rows}
        nested = [row for row in rows if isinstance(kinds[row.id], NestedType)]
        stacks = tx.stacks.get_many({row.physical_id for row in nested if row.physical_id})
        behind = {row.id: stacks.get(row.physical_id or "") for row in nested}
        ended = {key: stack for key, stack in behind.items() if stack and not stack.in_progress}
        whole = {row.id: row for row in tx.resources.get(ended)}
        living = [stack for stack in ended.values() if stack.deleted_at is None]
        goals = tx.goals.get_rows({stack.goal_id for stack in living})
        found = {}
        for row in nested:
            kind = kinds[row.id]
            if row.id in whole and isinstance(kind, NestedType):
                stack = ended[row.id]
                goal = goals.get(stack.goal_id)
                found[row.id] = self._ended(tx, whole[row.id], stack, goal, kind)
            else:
                found[row.id] = _unended(row, behind[row.id])
        return found

    def _ended(
        self,
        tx: Transaction,
        row: Resource,
        stack: Stack,
        goal: Goal | None,
        resource_type: NestedType,
    ) -> Observation:
        if stack.deleted_at is not None:
            return _gone(row)
        told = None
        failed = row.desired is DesiredState.ABSENT or stack.status is Status.FAILED
        if not failed or row.job is None:
            if goal is None:
                error = RowsContradict(f"Stack {stack.id} has no goal {stack.goal_id}")
                return Observation(
                    ObservedState.FAILED, owner_failure_reason(row.name, str(error))
                )
            behind = self._behind(tx, row, stack, goal)
            told = behind.redact_errors(
                resource_type.read_attributes(behind, stored_attribute_paths(row.definition))
            )
        data = resource_type.data_after_completion(row.data, self.clock())
        reason = stack.status_reason if failed else _overtaken(row, stack)
        if reason:
            reason = owner_failure_reason(row.name, reason)
            return Observation(
                ObservedState.FAILED, reason, attributes=told, data=data, is_permanent=True
            )
        converging = row.job in (Verb.CONVERGE, Verb.ADOPT)  # other verbs take one step
        progress = (row.data.get("steps") or {}) if converging else {}
        return Observation(
            ObservedState.BUSY if progress.get("more") else ObservedState.READY,
            "state changed",
            attributes=told,
            data=data,
            has_next_step=bool(progress.get("more")),
            recheck_after_s=progress.get("pause_s", 0.0),
        )

    def _behind(self, tx: Transaction, row: Resource, stack: Stack, goal: Goal) -> NestedStackView:
        known: dict[str, InputResource] = {}
        asked: set[str] = set()
        for name, data in goal.outputs.items():
            asked |= referenced_resources(OutputDefinition.load(name, data).value)
        asked |= {
            read[0].split(".", 1)[1]
            for read in stored_attribute_paths(row.definition)
            if read[0].startswith("resource.")
        }
        known.update(tx.incarnations.get_inputs(stack.id, asked))

        def inputs(names: Collection[str]) -> RowInputs:
            missing = set(names) - asked
            if missing:
                known.update(tx.incarnations.get_inputs(stack.id, missing))
                asked.update(missing)
            return RowInputs(known, stack, self.registry, self.clock())

        def names() -> Sequence[str]:
            template = self.template_cache.template(goal.template_hash, tx.contents.get)
            return template.resource_names

        return NestedStackView(stack, goal, row, inputs, names, self.limits, self.functions)


def _overtaken(row: Resource, stack: Stack) -> str:
    """What is wrong with a stack that is well, but not what the row waits for: a user's
    request about it came over that."""
    if row.job is None:
        return ""
    if row.job in (Verb.CONVERGE, Verb.ADOPT):
        back = stack.action is Action.ROLLBACK  # to a goal, and not to this one
        wanted, right = str(row.action), stack.goal_reached and not back
    else:
        wanted, right = str(row.job), stack.action == row.job
    return "" if right else f"{SUPERSEDED_REASON}{wanted}: it is {stack.action}_{stack.status}"


def _unended(row: Resource, stack: Stack | None) -> Observation:
    return _gone(row) if stack is None else Observation(ObservedState.BUSY, recheck_after_s=None)


def _gone(row: Resource) -> Observation:
    if row.desired is DesiredState.ABSENT:
        return Observation(ObservedState.ABSENT, "state changed")
    reason = f"ResourceInError: resources.{row.name}: the nested stack is gone"
    return Observation(ObservedState.FAILED, reason)


def owner_failure_reason(name: str, reason: str) -> str:
    """A nested stack's reason as its owner's: with the path from the owner down."""
    found = _MEMBER_FAILED.fullmatch(reason)
    if found is None:
        return f"ResourceInError: resources.{name}: {reason}"
    return f"{found[1]}: resources.{name}.{found[2]}"
