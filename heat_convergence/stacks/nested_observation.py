"""Observation of nested stacks: ``traversal.NestedStatusReader`` for the observer.

Reads rows of the database only, inside the transaction that acts on them; a stack that
is still in progress costs one statement.  Outputs are evaluated outside of that
transaction, which is repeated for it and compares what they were evaluated from.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, NoReturn, TypeVar

from heat_convergence.common.clock import Clock
from heat_convergence.common.error_boundary import (
    TRANSACTION_ERRORS,
    BoundaryName,
    ErrorBoundary,
)
from heat_convergence.common.error_log import ErrorLog, ErrorSubject
from heat_convergence.common.errors import Error
from heat_convergence.common.evaluation.deferred_evaluation import (
    DeferredEvaluation,
    evaluate_all_outside,
    find_previous_inputs,
)
from heat_convergence.common.failures import ResourceFailure, RowsContradict
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

Json = Any
T = TypeVar("T")
AttributeResult = Callable[[], Mapping[str, Json] | None]
"""Returns attributes, or raises why there are none."""

SUPERSEDED_REASON = "was superseded by"  # between the desired action and the actual one
_MEMBER_FAILED = re.compile(r"Resource \w+ failed: (\w+): (resources\..*)", re.DOTALL)


@dataclass(slots=True)
class NestedStackReading:
    """A nested stack at rest, with everything that its attributes are read from.

    Attributes:
        row: the resource whose nested stack it is.
        requested_names: names of resources of the nested stack that were read.
        inputs: those of them that exist.
    """

    row: Resource
    stack: Stack
    goal: Goal
    requested_names: set[str]
    inputs: dict[str, InputResource] = field(default_factory=dict)

    @property
    def key(self) -> tuple[str, str]:
        """The name of the evaluation of its outputs."""
        return ("outputs", self.row.id)


@dataclass(frozen=True, slots=True)
class NestedStackObserver:
    """The reader of nested stacks, ``traversal.NestedStatusReader``.

    Attributes:
        open_read: opens a transaction for reading, as ``Store.read``.
    """

    registry: ResourceTypeRegistry
    clock: Clock
    open_read: Callable[[], AbstractContextManager[Transaction]]
    limits: TemplateLimits = DEFAULT_LIMITS
    functions: Mapping[str, Function] = field(default_factory=lambda: NO_FUNCTIONS)
    template_cache: TemplateCache = field(default_factory=TemplateCache)
    errors: ErrorLog = field(default_factory=ErrorLog)

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
        readings, failures = self._readings(full_rows.values(), at_rest, goals)
        names = {each.stack.id: each.requested_names for each in readings.values()}
        inputs = tx.incarnations.get_inputs_of_stacks(names) if any(names.values()) else {}
        for each in readings.values():
            each.inputs = dict(inputs.get(each.stack.id, {}))
        results = self._read_attributes(tx, readings) | failures
        found = {}
        for row in nested:
            resource_type = types[row.id]
            if row.id in full_rows and isinstance(resource_type, NestedType):
                members = partial(self._count_members, tx, readings.get(row.id))
                result = results.get(row.id, partial(_no_goal, row, at_rest[row.id]))
                rest = _Rest(full_rows[row.id], at_rest[row.id], result, members)
                found[row.id] = self._fail_resource(
                    row, partial(self._at_rest, rest, resource_type), partial(_failed, row)
                )
            else:
                found[row.id] = _in_progress(row, by_row[row.id])
        return found

    def _fail_resource(
        self,
        row: Resource,
        work: Callable[[], T],
        failed: Callable[[ResourceFailure], T],
        passed_on: tuple[type[Exception], ...] = TRANSACTION_ERRORS,
    ) -> T:
        """Do work on one row; RULE 11: a defect of its type or data fails this resource alone."""
        boundary = ErrorBoundary(BoundaryName.RESOURCE_TYPE, self.errors, passed_on)
        return boundary.fail_resource(work, failed, ErrorSubject(row.stack_id, row.name))

    def _at_rest(self, rest: _Rest, resource_type: NestedType) -> Observation:
        row, stack = rest.row, rest.stack
        if stack.deleted_at is not None:
            return _missing(row)
        attributes = None
        if _shows_attributes(row, stack):
            try:
                attributes = rest.read_attributes()
            except TRANSACTION_ERRORS:
                raise  # the transaction is repeated
            except Error as error:
                return _failed(row, error)
        failed = _is_failed(row, stack)
        reason = stack.status_reason if failed else _superseded(row, stack)
        converging = row.job.verb in (Verb.CONVERGE, Verb.ADOPT)  # other verbs take one step
        progress = (row.physical.data.get("steps") or {}) if converging and not reason else {}
        completion = GroupCompletion(
            row.physical.data,
            row.physical.properties or {},
            count_members=rest.count_members,
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

    # -- attributes

    def _readings(
        self, rows: Iterable[Resource], stacks: Mapping[str, Stack], goals: Mapping[str, Goal]
    ) -> tuple[dict[str, NestedStackReading], dict[str, AttributeResult]]:
        """Return readings and, of the rows whose data cannot be read, why, by row id."""
        readings: dict[str, NestedStackReading] = {}
        failures: dict[str, AttributeResult] = {}
        for row in rows:
            stack, goal = stacks[row.id], goals.get(stacks[row.id].goal_id)
            if goal is None or not _shows_attributes(row, stack):
                continue
            work: Callable[[], NestedStackReading | ResourceFailure] = partial(
                self._reading, row, stack, goal
            )
            found = self._fail_resource(row, work, lambda failure: failure)
            if isinstance(found, ResourceFailure):
                failures[row.id] = partial(_raise, found)
            else:
                readings[row.id] = found
        return readings, failures

    def _reading(self, row: Resource, stack: Stack, goal: Goal) -> NestedStackReading:
        """Return a reading without its inputs, with the names that it is known to need."""
        requested: set[str] = set()
        for name, data in goal.outputs.items():
            requested |= referenced_resources(OutputDefinition.load(name, data).value)
        requested |= {
            path[0].removeprefix(MEMBER_ATTRIBUTE_PREFIX)
            for path in stored_attribute_paths(row.desired.definition)
            if path[0].startswith(MEMBER_ATTRIBUTE_PREFIX)
        }
        reading = NestedStackReading(row, stack, goal, requested)
        previous = find_previous_inputs(reading.key)
        if previous is not None:
            requested |= previous.requested_names
        return reading

    def _read_attributes(
        self, tx: Transaction, readings: Mapping[str, NestedStackReading]
    ) -> dict[str, AttributeResult]:
        """Return how to get the attributes by row id: those with outputs, from outside."""
        inside = {
            row_id: partial(self._evaluate, each, lambda read: read(tx))
            for row_id, each in readings.items()
            if not each.goal.outputs
        }
        with_outputs = {key: each for key, each in readings.items() if key not in inside}
        evaluated = evaluate_all_outside(
            {
                each.key: DeferredEvaluation(each, partial(self._evaluate, each, self._run_read))
                for each in with_outputs.values()
            }
        )
        return {**inside, **{key: evaluated[each.key] for key, each in with_outputs.items()}}

    def _run_read(self, read: Callable[[Transaction], T]) -> T:
        with self.open_read() as tx:
            return read(tx)

    def _evaluate(
        self, reading: NestedStackReading, run_read: Callable[..., Any]
    ) -> Mapping[str, Json] | None:
        """Return the attributes to record; ``run_read`` reads what turns out to be needed.

        Raises:
            ResourceFailure: The type raised.
        """

        def read() -> Mapping[str, Json]:
            resource_type = self.registry.find(reading.row.desired.implementation)
            assert isinstance(resource_type, NestedType)
            view = self._nested_stack_view(reading, run_read)
            paths = stored_attribute_paths(reading.row.desired.definition)
            return view.redact_errors(resource_type.read_attributes(view, paths))

        return self._fail_resource(reading.row, read, _raise, (Error, *TRANSACTION_ERRORS))

    def _nested_stack_view(
        self, reading: NestedStackReading, run_read: Callable[..., Any]
    ) -> NestedStackView:
        stack, goal = reading.stack, reading.goal

        def load_inputs(names: Collection[str]) -> RowInputs:
            missing = set(names) - reading.requested_names
            if missing:
                found = run_read(lambda tx: tx.incarnations.get_inputs(stack.id, missing))
                reading.inputs.update(found)
                reading.requested_names |= missing
            return RowInputs(reading.inputs, stack, self.registry, self.clock())

        return NestedStackView(
            stack,
            goal,
            InputResource.from_resource(reading.row),
            load_inputs,
            lambda: run_read(partial(self._load_resource_names, goal)),
            self.limits,
            self.functions,
        )

    def _load_resource_names(self, goal: Goal, tx: Transaction) -> Sequence[str]:
        return self.template_cache.resource_names(goal.template_hash, tx.contents.get)

    def _count_members(self, tx: Transaction, reading: NestedStackReading | None) -> int:
        return 0 if reading is None else len(self._load_resource_names(reading.goal, tx))


@dataclass(frozen=True, slots=True)
class _Rest:
    """A row whose nested stack is at rest, and how to read more about that stack."""

    row: Resource
    stack: Stack
    read_attributes: AttributeResult
    count_members: Callable[[], int]


def _is_failed(row: Resource, stack: Stack) -> bool:
    return row.desired.state is DesiredState.ABSENT or stack.status is Status.FAILED


def _shows_attributes(row: Resource, stack: Stack) -> bool:
    """Return whether the attributes of the row's nested stack are to be recorded."""
    return stack.deleted_at is None and (not _is_failed(row, stack) or row.job.verb is None)


def _no_goal(row: Resource, stack: Stack) -> None:
    raise RowsContradict(f"Stack {stack.id} has no goal {stack.goal_id}")


def _raise(failure: ResourceFailure) -> NoReturn:
    raise failure


def _failed(row: Resource, error: Error) -> Observation:
    reason = owner_failure_reason(row.name, str(error))
    return Observation(ObservedState.FAILED, reason, is_permanent=True)


def _with_failure(observation: Observation, row: Resource, reason: str) -> Observation:
    return replace(
        observation,
        observed=ObservedState.FAILED,
        reason=owner_failure_reason(row.name, reason),
        recheck_after_s=1.0,
        is_permanent=True,
    )


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
