"""The transactions of an observer that change stacks, each inside its error boundary.

Called by the observer with messages and polled observations, and by its sweep. Decides what
happens when a resource or stack raises (RULE 11). Must not decide when work is due.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import Protocol, TypeVar

from heat_convergence.common.failures import InternalError
from heat_convergence.common.stored_values import StoredValueUnreadable
from heat_convergence.common.transactions import retry_transaction
from heat_convergence.convergence.lifecycle import rollback
from heat_convergence.convergence.lifecycle.context import TraversalContext
from heat_convergence.convergence.lifecycle.observations import Observation, job_key
from heat_convergence.convergence.lifecycle.outgoing_messages import merge_messages, send_messages
from heat_convergence.convergence.lifecycle.progress.observed_stacks import process_observations
from heat_convergence.convergence.lifecycle.progress.result import ProgressResult
from heat_convergence.convergence.lifecycle.sweeps import (
    dispatch_project,
    fail_unprocessable_stack,
)
from heat_convergence.convergence.model.job import ObservedState
from heat_convergence.convergence.ports.store import Transaction
from heat_convergence.observer.stack_boundary import OwnTransactionRequired, StackBoundary
from heat_convergence.stacks.contained_bus import ContainedBus
from heat_convergence.stacks.daemon_services import DaemonServices
from heat_convergence.stacks.event_log import EventLog
from heat_convergence.stacks.nested_observation import NestedStackObserver

LOG = logging.getLogger(__name__)
Result = TypeVar("Result")


class LifecycleStep(Protocol):
    """A step of ``lifecycle`` with its arguments bound, apart from these."""

    def __call__(self, tx: Transaction, *, context: TraversalContext) -> ProgressResult:
        """Run the step and return what is to be done after the commit."""


StepResults = Mapping[str, ProgressResult]


class LifecycleSteps(Protocol):
    """Steps of ``lifecycle`` on several stacks with their arguments bound, apart from these."""

    def __call__(self, tx: Transaction, *, context: TraversalContext) -> StepResults:
        """Run the steps and return what is to be done after the commit, by stack."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StackTransactions:
    """The transactions of one observer.

    Attributes:
        read_nested_status: Reads the status of the nested stack behind a resource.
        rebuild: Resolves the definitions of a stack's previous goal, for a rollback.
        expect_poll: Receives the time when a resource is to be polled next, or None.
    """

    services: DaemonServices
    bus: ContainedBus
    boundary: StackBoundary
    read_nested_status: NestedStackObserver
    rebuild: rollback.DefinitionRebuilder
    expect_poll: Callable[[datetime | None], None]

    def run_step(self, stack_id: str, step: LifecycleStep) -> str | None:
        """Run a step about a stack or project; return the id of its error, or None.

        Raises:
            Unavailable: The database does not answer.
        """
        return self.boundary.run(stack_id, partial(self._transact, _as_steps(step)))

    def process(
        self, named: Mapping[str, Sequence[str]], observations: Mapping[str, Observation]
    ) -> None:
        """Process resources of stacks together; if that fails, each stack alone, and so on.

        Of a stack that raises alone, each resource is processed alone, and fails if it raises.

        Args:
            named: The resources whose outcomes or observations are new, by stack.
            observations: The observations by resource id; those recorded in rows are left out.

        Raises:
            Unavailable: The database does not answer.
        """
        together = partial(self._process, named, observations)
        if len(named) > 1 and self.boundary.run_together(named, together):
            return
        for stack_id, resource_ids in named.items():
            if self._run(stack_id, resource_ids, observations) is None:
                continue
            for row_id in resource_ids:
                error_id = self._run(stack_id, [row_id], observations)
                if error_id is not None:
                    self.fail_resources(stack_id, [row_id], error_id)

    def _run(
        self, stack_id: str, resource_ids: Sequence[str], observations: Mapping[str, Observation]
    ) -> str | None:
        """Process resources of a stack; return the id of the error, or None."""
        own = {key: value for key, value in observations.items() if key in resource_ids}
        return self.boundary.run(stack_id, partial(self._process, {stack_id: resource_ids}, own))

    def fail_resources(self, stack_id: str, resource_ids: Sequence[str], error_id: str) -> None:
        """Process resources as failed, each alone, without the stack's rollback if need be.

        If that raises, too, they are due again after the lease, until the stack's deadline.

        Raises:
            Unavailable: The database does not answer.
        """
        for row_id in resource_ids:
            for may_roll_back in (True, False):
                fail = partial(
                    self._fail_resource, stack_id, row_id, error_id, may_roll_back=may_roll_back
                )
                if self.boundary.run(stack_id, fail) is None:
                    break

    def run(self, work: Callable[[Transaction], Result]) -> Result:
        """Run work in a transaction, again after a conflict, and return its result."""

        def attempt() -> Result:
            with self.services.store.transaction() as tx:
                return work(tx)

        return retry_transaction(attempt, wait=self.services.wait)

    def _fail_resource(
        self, stack_id: str, row_id: str, error_id: str, *, may_roll_back: bool
    ) -> None:
        try:
            self._process_as_failed(stack_id, row_id, error_id, may_roll_back=may_roll_back)
        except StoredValueUnreadable as error:
            fail = partial(fail_unprocessable_stack, stack_id=stack_id, reason=str(error))
            self._transact(_as_steps(fail))

    def _process_as_failed(
        self, stack_id: str, row_id: str, error_id: str, *, may_roll_back: bool
    ) -> None:
        with self.services.store.transaction() as tx:
            rows = [row for row in tx.resources.get([row_id]) if row.stack_id == stack_id]
        reason = f"InternalError: resources.{{}}: {InternalError(error_id).message}"
        failed = {
            row.id: Observation(ObservedState.FAILED, reason.format(row.name), job=job_key(row))
            for row in rows
        }
        self._process({stack_id: [row_id]}, failed, may_roll_back=may_roll_back)

    def _process(
        self,
        named: Mapping[str, Sequence[str]],
        observations: Mapping[str, Observation],
        *,
        may_roll_back: bool = True,
    ) -> None:
        found = self._transact(
            partial(process_observations, named=named, observations=observations),
            may_roll_back=may_roll_back,
        )
        for stack_id in named:
            if found[stack_id].stack is None:
                LOG.debug(
                    "message ignored, its stack is deleted: stack=%(stack)s", {"stack": stack_id}
                )

    def _transact(self, steps: LifecycleSteps, *, may_roll_back: bool = True) -> StepResults:
        """Run steps in a transaction, and the rollback that one asks for.

        Their messages are sent, and their reports are logged, after the commit.

        Raises:
            OwnTransactionRequired: One of several stacks asks for a rollback.
        """
        services = self.services

        def attempt() -> tuple[StepResults, EventLog]:
            log = EventLog(services.errors)
            context = TraversalContext(
                services.clock(), services.ids, services.settings, self.read_nested_status, log.add
            )
            with services.store.transaction() as tx:
                results = steps(tx, context=context)
                if len(results) > 1 and any(each.rollback_reason for each in results.values()):
                    raise OwnTransactionRequired
                found = {
                    key: self._begin_requested_rollback(tx, result, context, may_roll_back)
                    for key, result in results.items()
                }
                return found, log

        results, log = retry_transaction(attempt, wait=services.wait)
        log.flush()
        messages = [each for result in results.values() for each in result.outgoing_messages]
        send_messages(self.bus, merge_messages(messages), services.settings)
        for result in results.values():
            self.expect_poll(result.next_poll_at)
        waiting = {
            result.stack.project_id
            for result in results.values()
            if result.waits_for_bus and result.stack is not None
        }
        for project_id in sorted(waiting):
            # A step of its own, as in the sweep: its error does not concern what is committed.
            self.run_step(project_id, partial(dispatch_project, project_id=project_id))
        return results

    def _begin_requested_rollback(
        self,
        tx: Transaction,
        result: ProgressResult,
        context: TraversalContext,
        may_roll_back: bool,
    ) -> ProgressResult:
        stack, reason = result.stack, result.rollback_reason
        if reason is None or stack is None:
            return result
        if may_roll_back:
            return rollback.begin_rollback(tx, stack, reason, context, self.rebuild)
        return rollback.refuse_rollback(tx, stack, reason, context)


def _as_steps(step: LifecycleStep) -> LifecycleSteps:
    """Return a step as one of several, of which there are no others."""
    return lambda tx, *, context: {"": step(tx, context=context)}
