"""Observation of nested stacks: ``traversal.NestedStatusReader`` for the observer.

Reads rows of the database only, inside the transaction that acts on them; a stack that
is still in progress costs one statement.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from heat_convergence.common.clock import Clock
from heat_convergence.common.errors import Error, ResourceFailure, RowsContradict
from heat_convergence.convergence.lifecycle.observations import Observation
from heat_convergence.convergence.model.action import Action, Status
from heat_convergence.convergence.model.goal import Goal
from heat_convergence.convergence.model.job import DesiredState, ObservedState, Verb
from heat_convergence.convergence.model.resource import InputResource, Resource
from heat_convergence.convergence.model.stack import Stack
from heat_convergence.convergence.ports.store import Transaction
from heat_convergence.resources.nested.nested_type import (
    MEMBER_ATTRIBUTE_PREFIX,
    NestedStackView,
    NestedType,
)
from heat_convergence.resources.nested.template_cache import TemplateCache
from heat_convergence.resources.protocol.resource_context import RowInputs
from heat_convergence.resources.protocol.scaling_adjustment import GroupCompletion
from heat_convergence.resources.registry import ResourceTypeRegistry
from heat_convergence.stacks.goal.desired_resources import stored_attribute_paths
from heat_convergence.template.evaluation.output_definition import OutputDefinition
from heat_convergence.template.evaluation.references import referenced_resources
from heat_convergence.template.functions.function import NO_FUNCTIONS, Function
from heat_convergence.template.limits import DEFAULT_LIMITS, TemplateLimits

LOG = logging.getLogger(__name__)
Json = Any
SUPERSEDED_REASON = "was superseded by"  # between the desired action and the actual one
_MEMBER_FAILED = re.compile(r"Resource \w+ failed: (\w+): (resources\..*)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class NestedStackObserver:
    """The reader of nested stacks, ``traversal.NestedStatusReader``."""

    registry: ResourceTypeRegistry
    clock: Clock
    limits: TemplateLimits = DEFAULT_LIMITS
    functions: Mapping[str, Function] = field(default_factory=lambda: NO_FUNCTIONS)
    template_cache: TemplateCache = field(default_factory=TemplateCache)

    def __call__(self, tx: Transaction, rows: Sequence[Resource]) -> Mapping[str, Observation]:
        """Return how the nested stacks of these rows are, by row id."""
        types = {row.id: self.registry.find(row.desired.implementation) for row in rows}
        nested = [row for row in rows if isinstance(types[row.id], NestedType)]
        stacks = tx.stacks.get_many({row.physical.id for row in nested if row.physical.id})
        by_row = {row.id: stacks.get(row.physical.id or "") for row in nested}
        at_rest = {key: stack for key, stack in by_row.items() if stack and not stack.in_progress}
        full_rows = {row.id: row for row in tx.resources.get(at_rest)}
        existing = [stack for stack in at_rest.values() if stack.deleted_at is None]
        goals = tx.goals.get_rows({stack.goal_id for stack in existing})
        found = {}
        for row in nested:
            resource_type = types[row.id]
            if row.id in full_rows and isinstance(resource_type, NestedType):
                stack = at_rest[row.id]
                goal = goals.get(stack.goal_id)
                found[row.id] = self._at_rest(tx, full_rows[row.id], stack, goal, resource_type)
            else:
                found[row.id] = _in_progress(row, by_row[row.id])
        return found

    def _at_rest(
        self,
        tx: Transaction,
        row: Resource,
        stack: Stack,
        goal: Goal | None,
        resource_type: NestedType,
    ) -> Observation:
        if stack.deleted_at is not None:
            return _missing(row)
        view, attributes = None, None
        failed = row.desired.state is DesiredState.ABSENT or stack.status is Status.FAILED
        if not failed or row.job.verb is None:
            try:
                view = self._nested_stack_view(tx, row, stack, goal)
                attributes = _read_attributes(resource_type, view, row)
            except Error as error:
                reason = owner_failure_reason(row.name, str(error))
                return Observation(ObservedState.FAILED, reason, is_permanent=True)
        reason = stack.status_reason if failed else _superseded(row, stack)
        converging = row.job.verb in (Verb.CONVERGE, Verb.ADOPT)  # other verbs take one step
        progress = (row.physical.data.get("steps") or {}) if converging and not reason else {}
        completion = GroupCompletion(
            row.physical.data,
            row.physical.properties or {},
            count_members=lambda: 0 if view is None else len(view.load_resource_names()),
            converged=converging and not reason and not progress.get("more"),
            now=self.clock(),
        )
        observation = Observation(
            ObservedState.BUSY if progress.get("more") else ObservedState.READY,
            "state changed",
            attributes=attributes,
            data=resource_type.data_after_completion(completion),
            has_next_step=bool(progress.get("more")),
            recheck_after_s=progress.get("pause_s", 0.0),
        )
        return _with_failure(observation, row, reason) if reason else observation

    def _nested_stack_view(
        self, tx: Transaction, row: Resource, stack: Stack, goal: Goal | None
    ) -> NestedStackView:
        if goal is None:
            raise RowsContradict(f"Stack {stack.id} has no goal {stack.goal_id}")
        requested: set[str] = set()
        for name, data in goal.outputs.items():
            requested |= referenced_resources(OutputDefinition.load(name, data).value)
        requested |= {
            path[0].removeprefix(MEMBER_ATTRIBUTE_PREFIX)
            for path in stored_attribute_paths(row.desired.definition)
            if path[0].startswith(MEMBER_ATTRIBUTE_PREFIX)
        }
        known: dict[str, InputResource] = dict(tx.incarnations.get_inputs(stack.id, requested))

        def load_inputs(names: Collection[str]) -> RowInputs:
            missing = set(names) - requested
            if missing:
                known.update(tx.incarnations.get_inputs(stack.id, missing))
                requested.update(missing)
            return RowInputs(known, stack, self.registry, self.clock())

        def load_resource_names() -> Sequence[str]:
            template = self.template_cache.template(goal.template_hash, tx.contents.get)
            return template.resource_names

        owner = InputResource.from_resource(row)
        return NestedStackView(
            stack, goal, owner, load_inputs, load_resource_names, self.limits, self.functions
        )


def _with_failure(observation: Observation, row: Resource, reason: str) -> Observation:
    return replace(
        observation,
        observed=ObservedState.FAILED,
        reason=owner_failure_reason(row.name, reason),
        recheck_after_s=1.0,
        is_permanent=True,
    )


def _read_attributes(
    resource_type: NestedType, view: NestedStackView, row: Resource
) -> Mapping[str, Json]:
    """Return the attributes to record.

    Raises:
        ResourceFailure: The type raised.
    """
    paths = stored_attribute_paths(row.desired.definition)
    try:
        return view.redact_errors(resource_type.read_attributes(view, paths))
    except Error:
        raise
    except Exception as error:
        # RULE 11: a defect of the type fails this resource and no pass over other stacks.
        LOG.exception(
            "resource type raised an exception: stack=%(stack)s resource=%(resource)s",
            {"stack": row.stack_id, "resource": row.name},
        )
        raise ResourceFailure(f"{type(error).__name__}: {error}") from error


def _superseded(row: Resource, stack: Stack) -> str:
    """Return what is wrong with a healthy nested stack that is not what its row waits for.

    A user's own request to the nested stack superseded that of its parent.
    """
    if row.job.verb is None:
        return ""
    if row.job.verb in (Verb.CONVERGE, Verb.ADOPT):
        rolled_back = stack.action is Action.ROLLBACK  # to a goal, but not to this one
        desired, reached = str(row.state.action), stack.goal_reached and not rolled_back
    else:
        desired, reached = str(row.job.verb), str(stack.action) == str(row.job.verb)
    return "" if reached else f"nested stack {desired} {SUPERSEDED_REASON} {stack.action}"


def _in_progress(row: Resource, stack: Stack | None) -> Observation:
    return (
        _missing(row) if stack is None else Observation(ObservedState.BUSY, recheck_after_s=None)
    )


def _missing(row: Resource) -> Observation:
    if row.desired.state is DesiredState.ABSENT:
        return Observation(ObservedState.ABSENT, "state changed")
    reason = f"ResourceInError: resources.{row.name}: the nested stack is gone"
    return Observation(ObservedState.FAILED, reason)


def owner_failure_reason(name: str, reason: str) -> str:
    """Return a nested stack's status reason with the path from its resource on."""
    found = _MEMBER_FAILED.fullmatch(reason)
    if found is None:
        return f"ResourceInError: resources.{name}: {reason}"
    return f"{found[1]}: resources.{name}.{found[2]}"
