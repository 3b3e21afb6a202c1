"""The execution of jobs whose resources have nested stacks: it starts their traversals.

The rows of the nested stack and its parent's row are written in one transaction, so that
there is never the one without the other (RULE 4), and the job is over: the end of the
nested stack notifies the parent.  Called by ``engine`` for such jobs instead of a pool.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace

from heat_convergence.common.clock import Clock
from heat_convergence.common.error_boundary import TRANSACTION_ERRORS
from heat_convergence.common.errors import Error, RequestLimitExceeded
from heat_convergence.common.failures import ConcurrentTransaction, Unavailable
from heat_convergence.common.ids import IdFactory
from heat_convergence.common.stored_values import is_readable
from heat_convergence.convergence.lifecycle import rollback, traversal
from heat_convergence.convergence.lifecycle.context import TraversalContext
from heat_convergence.convergence.lifecycle.nested import detach
from heat_convergence.convergence.lifecycle.outgoing_messages import OutgoingMessage
from heat_convergence.convergence.lifecycle.traversal import Initiator, TraversalRequest
from heat_convergence.convergence.model.action import Action, Status
from heat_convergence.convergence.model.goal import Goal
from heat_convergence.convergence.model.job import DesiredState, ObservedState, Verb
from heat_convergence.convergence.model.resource import Resource
from heat_convergence.convergence.model.stack import Stack
from heat_convergence.convergence.planning.desired_state import StateSource
from heat_convergence.convergence.planning.job_steps import JobStep
from heat_convergence.convergence.ports.settings import ConvergenceSettings
from heat_convergence.convergence.ports.store import Store, Transaction
from heat_convergence.engine import outcomes
from heat_convergence.engine.execution import Outcome
from heat_convergence.engine.jobs import Job
from heat_convergence.engine.nested.creations import (
    Creation,
    is_creation,
    prepare_batches,
    store_batch,
)
from heat_convergence.engine.nested.jobs import (
    adopted_document,
    deletion_values,
    held_jobs,
    missing_stack_outcome,
    nested_state_source,
    owns_stack,
    reaches_goal,
)
from heat_convergence.engine.outcomes import RecordedOutcomes
from heat_convergence.resources.nested.template_cache import TemplateCache
from heat_convergence.resources.protocol.stack_source import StackSource
from heat_convergence.resources.protocol.verb_values import ResourceContext, VerbResult
from heat_convergence.stacks import quotas
from heat_convergence.stacks.adoption import adopted_resources
from heat_convergence.stacks.event_log import EventLog
from heat_convergence.stacks.goal.nested_builder import (
    NestedStackBuilder,
    ParentResource,
    ParentStack,
    PreparedNestedStack,
)

_NOTHING_RECORDED = RecordedOutcomes((), {})
StartNested = Callable[[TraversalContext], tuple[OutgoingMessage, ...]]
Decision = tuple[VerbResult, StartNested | None]  # the outcome, and how the traversal starts


@dataclass(frozen=True, slots=True)
class NestedTreeLimits:
    """Limits on the size of a tree of stacks; negative: without limit."""

    max_depth: int = 5
    max_resources: int = 1000


class NestedStackExecutor:
    """Starts the traversals of nested stacks, for one worker process."""

    def __init__(
        self,
        *,
        store: Store,
        builder: NestedStackBuilder,
        clock: Clock,
        ids: IdFactory,
        settings: ConvergenceSettings,
        limits: NestedTreeLimits,
    ) -> None:
        self._store = store
        self._builder = builder
        self._clock = clock
        self._ids = ids
        self._settings = settings
        self._limits = limits
        self._last_goal: Goal | None = None

    def execute(
        self, job: Job, token: str
    ) -> tuple[RecordedOutcomes, tuple[OutgoingMessage, ...]]:
        """Start the traversal that a job needs.

        Returns:
            The recorded outcomes, and messages to send after the commit.
        """
        try:
            if job.step is JobStep.ADOPT and job.row.job.verb is not Verb.ADOPT:
                return self._adopt_first(job, token)
            if job.step.traits.creates or job.step is JobStep.ADOPT:
                return self._create(job, token)
            if job.step is JobStep.UPDATE:
                return self._update(job, token)
            if job.step is JobStep.ABANDON_PHYSICAL:
                return self._detach(job, token), ()
            return self._change(job, token, lambda tx, nested: self._decide(tx, job, nested))
        except (ConcurrentTransaction, Unavailable):
            raise  # the transaction is tried again
        except Error as error:
            return self._record(Outcome(job, error=error), token), ()

    def prepare_together(self, jobs: Sequence[Job]) -> Iterator[list[Creation]]:
        """Yield the creations among jobs of one tree, as they may share transactions."""
        creations = [job for job in jobs if is_creation(job)]
        return prepare_batches(creations, self._prepare_creation) if creations[1:] else iter(())

    def create_together(
        self, batch: Sequence[Creation], token: str
    ) -> tuple[OutgoingMessage, ...] | None:
        """Create nested stacks in one transaction.

        Returns:
            Messages to send after the commit; None if the stacks are to be created one by one,
            as something is wrong with one of them.
        """
        try:
            with self._transaction() as (tx, context):
                return store_batch(tx, batch, token, context, self._limits.max_resources)
        except TRANSACTION_ERRORS:
            raise
        except Error:
            return None

    def with_stack_source(self, job: Job) -> Job:
        """Return the job with the stack's files and environment, if its call sends them on."""
        resource_type, context = job.resource_type, job.context
        if resource_type is None or context is None or not job.step.traits.needs_properties:
            return job
        if resource_type.stack_source_property is None:
            return job
        try:
            parent = self._parent(job)
            texts = self._load_contents(set(parent.files.hashes.values()))
        except Unavailable:
            raise  # a sweep repeats the job
        except Error as error:
            return replace(job, error=error)
        files = {name: texts[key] for name, key in parent.files.hashes.items()}
        source = StackSource(files, parent.environment.for_remote_stack(job.row.name))
        return replace(job, context=replace(context, stack_source=source))

    @property
    def builder(self) -> NestedStackBuilder:
        """The builder of the nested stacks' goals."""
        return self._builder

    @property
    def template_cache(self) -> TemplateCache:
        """The templates that this process has parsed."""
        return self._builder.services.template_cache

    # -- steps

    def _create(
        self, job: Job, token: str
    ) -> tuple[RecordedOutcomes, tuple[OutgoingMessage, ...]]:
        creation = self._prepare_creation(job)
        return self._store_nested(job, token, creation.prepared, creation.outcome)

    def _prepare_creation(self, job: Job) -> Creation:
        resource = ParentResource(
            job.row, job.desired_properties, job.facade, dependencies=_dependencies(job)
        )
        prepared = self._builder.prepare(self._parent(job), resource, self._ids)
        self._check_depth(job.row, prepared)
        return Creation(job, prepared)

    def _adopt_first(
        self, job: Job, token: str
    ) -> tuple[RecordedOutcomes, tuple[OutgoingMessage, ...]]:
        """Adopt a nested stack that has another goal already.

        It is created as its document says; the job's next step is the goal, or the deletion.
        """
        resource = ParentResource(job.row, job.desired_properties, job.facade)
        document = adopted_document(job.row)
        prepared = self._builder.prepare_adopted(self._parent(job), resource, document, self._ids)
        self._check_depth(job.row, prepared)
        result = VerbResult(ObservedState.BUSY, prepared.stack.id, data=prepared.data)
        return self._store_nested(
            job, token, prepared, Outcome(job, result=result, unfinished=True)
        )

    def _store_nested(
        self, job: Job, token: str, prepared: PreparedNestedStack, outcome: Outcome
    ) -> tuple[RecordedOutcomes, tuple[OutgoingMessage, ...]]:
        """Store the rows of a new nested stack and its parent's row at once (RULE 4)."""
        stack, adopted = prepared.stack, None
        if job.step is JobStep.ADOPT:
            stack = replace(stack, action=Action.ADOPT)
            adopted = adopted_resources(
                adopted_document(job.row).get("resources") or {},
                prepared.desired_resources,
                self._builder.services.registry,
            )
        with self._transaction() as (tx, context):
            if not held_jobs(tx, [job], token):
                return _NOTHING_RECORDED, ()
            recorded = outcomes.record_outcomes(tx, [outcome], token, context)
            started = traversal.create_stack(
                tx,
                stack,
                Creation(job, prepared).new_goal,
                context,
                adopted_resources=adopted,
            )
            if job.row.desired.state is DesiredState.PRESENT:
                quotas.check_tree_size(tx, job.row, self._limits.max_resources, started.growth)
        return (recorded if outcome.unfinished else _NOTHING_RECORDED), started.outgoing_messages

    def _update(
        self, job: Job, token: str
    ) -> tuple[RecordedOutcomes, tuple[OutgoingMessage, ...]]:
        resource = ParentResource(
            job.row,
            job.desired_properties,
            job.facade,
            load_members=lambda: self._load_members(job),
            load_goal=lambda: self._load_nested_goal(job),
            dependencies=_dependencies(job),
        )
        prepared = self._builder.prepare(self._parent(job), resource, self._ids)

        def decide(tx: Transaction, nested: Stack) -> Decision:
            if _is_unchanged(job, prepared, nested):
                unchanged = VerbResult(ObservedState.BUSY, data=prepared.data, poll_after_s=0.0)
                return unchanged, None
            busy = VerbResult(ObservedState.BUSY, data=prepared.data, poll_after_s=None)
            return busy, lambda context: self._start_update(tx, job, nested, prepared, context)

        return self._change(job, token, decide)

    def _start_update(
        self,
        tx: Transaction,
        job: Job,
        nested: Stack,
        prepared: PreparedNestedStack,
        context: TraversalContext,
    ) -> tuple[OutgoingMessage, ...]:
        request = TraversalRequest(
            nested.id,
            Action.UPDATE,
            goal=prepared.goal,
            desired_resources=prepared.desired_resources,
            stack_values={"timeout_mins": prepared.stack.timeout_mins},
            initiator=Initiator.PARENT,
            state_source=nested_state_source(job),
            contents=prepared.contents,
        )
        started = traversal.start_traversal(tx, request, context)
        quotas.check_tree_size(tx, job.row, self._limits.max_resources, started.growth)
        return started.outgoing_messages

    def _decide(self, tx: Transaction, job: Job, nested: Stack) -> Decision:
        def start(context: TraversalContext) -> tuple[OutgoingMessage, ...]:
            if (
                job.action is Action.DELETE
                and rollback.RETAIN_CONTENTS in job.row.desired.definition
            ):
                rollback.retain_adopted(tx, tx.resources.lock_by_stack(nested.id))
            request = TraversalRequest(
                nested.id,
                job.action,
                stack_values=deletion_values(job),
                initiator=Initiator.PARENT,
            )
            return traversal.start_traversal(tx, request, context).outgoing_messages

        return VerbResult(ObservedState.BUSY, poll_after_s=None), start

    def _change(
        self, job: Job, token: str, decide: Callable[[Transaction, Stack], Decision]
    ) -> tuple[RecordedOutcomes, tuple[OutgoingMessage, ...]]:
        """Start a traversal of an existing nested stack.

        The parent's row is written first: a traversal with nothing to do ends at once and
        notifies the parent.
        """
        with self._transaction() as (tx, context):
            nested = tx.stacks.lock(job.row.physical.id or "")
            if not held_jobs(tx, [job], token):
                return _NOTHING_RECORDED, ()
            if nested is None or nested.deleted_at is not None or not owns_stack(job.row, nested):
                outcome = missing_stack_outcome(job)
                return outcomes.record_outcomes(tx, [outcome], token, context), ()
            result, start = decide(tx, nested)
            outcome = Outcome(job, result=result)
            recorded = outcomes.record_outcomes(tx, [outcome], token, context)
            return (recorded, ()) if start is None else (_NOTHING_RECORDED, start(context))

    def _detach(self, job: Job, token: str) -> RecordedOutcomes:
        """Detach a nested stack that is retained, if it is still this resource's."""
        with self._transaction() as (tx, context):
            tree = detach.lock_nested_tree(tx, job.row.physical.id or "")
            if not held_jobs(tx, [job], token):
                return _NOTHING_RECORDED
            if tree and owns_stack(job.row, tree[-1][0]):
                detach.promote_to_root(tx, tree)
            outcome = Outcome(job, result=VerbResult(ObservedState.ABSENT))
            return outcomes.record_outcomes(tx, [outcome], token, context)

    def _record(self, outcome: Outcome, token: str) -> RecordedOutcomes:
        with self._transaction() as (tx, context):
            if not held_jobs(tx, [outcome.job], token):
                return _NOTHING_RECORDED
            return outcomes.record_outcomes(tx, [outcome], token, context)

    # -- reads

    def _parent(self, job: Job) -> ParentStack:
        assert job.stack is not None
        parent = self._builder.load_parent(job.stack, self._load_goal, self._load_contents)
        # A rollback stops at no breakpoint, at no depth.
        return parent.without_hooks() if job.stack.action is Action.ROLLBACK else parent

    def _load_members(self, job: Job) -> list[Resource]:
        with self._store.transaction() as tx:
            rows = tx.resources.get_by_stack(job.row.physical.id or "")
        return [row for row in rows if row.desired.state is DesiredState.PRESENT]

    def _load_nested_goal(self, job: Job) -> Goal | None:
        with self._store.transaction() as tx:
            nested = tx.stacks.get(job.row.physical.id or "")
            return None if nested is None else tx.goals.get_row(nested.goal_id)

    def _load_goal(self, goal_id: str) -> Goal | None:
        """Return the goal of a parent, whose nested stacks follow one another.

        Nothing changes a goal, but an operator may repair the row of one that is unreadable.
        """
        if self._last_goal is not None and self._last_goal.id == goal_id:
            return self._last_goal
        with self._store.transaction() as tx:
            goal = tx.goals.get_row(goal_id)
        if goal is not None and is_readable(goal.environment, goal.parameters):
            self._last_goal = goal
        return goal

    def _load_contents(self, hashes: Collection[str]) -> Mapping[str, str]:
        with self._store.transaction() as tx:
            return tx.contents.get(hashes)

    def _check_depth(self, row: Resource, prepared: PreparedNestedStack) -> None:
        is_present = row.desired.state is DesiredState.PRESENT
        if is_present and 0 <= self._limits.max_depth < prepared.stack.depth:
            raise RequestLimitExceeded(
                f"Stacks are nested at most {self._limits.max_depth} deep",
                path=f"resources.{row.name}",
            )

    @contextmanager
    def _transaction(self) -> Iterator[tuple[Transaction, TraversalContext]]:
        """Open a transaction with its context; log its reports after the commit."""
        log = EventLog()
        context = TraversalContext(self._clock(), self._ids, self._settings, report=log.add)
        with self._store.transaction() as tx:
            yield tx, context
        log.flush()


def _is_unchanged(job: Job, prepared: PreparedNestedStack, nested: Stack) -> bool:
    """Return whether the nested stack needs no traversal for this update."""
    row = job.row
    if prepared.data.get("made_of") != row.physical.data.get("made_of") or row.physical.suspended:
        return False
    if nested_state_source(job) is not StateSource.RECORDED:
        return False
    if any(each.runs_on_update for each in prepared.desired_resources.values()):
        return False
    # None: something in the nested stack has changed without a request of this one.
    certain = row.physical.properties_hash is not None
    return certain and nested.status is not Status.FAILED and reaches_goal(nested)


def _dependencies(job: Job) -> Mapping[str, ResourceContext]:
    """Return the resources that the job's one refers to, if its type reads them."""
    return {} if job.context is None else job.context.dependencies
