"""The creation of several nested stacks in one transaction.

Called by ``executor`` with jobs of one message, all of one tree of stacks.  Decides how many
stacks share a transaction.  A job with a mistake is left out, and if the database refuses the
rows, all are: each is then done alone, which records what is wrong with it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from heat_convergence.common.error_boundary import TRANSACTION_ERRORS
from heat_convergence.common.errors import Error
from heat_convergence.convergence.lifecycle import traversal
from heat_convergence.convergence.lifecycle.context import TraversalContext
from heat_convergence.convergence.lifecycle.outgoing_messages import OutgoingMessage
from heat_convergence.convergence.lifecycle.traversal import NewGoal
from heat_convergence.convergence.model.job import ObservedState
from heat_convergence.convergence.planning.job_steps import JobStep
from heat_convergence.convergence.ports.store import Transaction
from heat_convergence.engine import outcomes
from heat_convergence.engine.execution import Outcome
from heat_convergence.engine.jobs import Job
from heat_convergence.engine.nested.jobs import held_jobs
from heat_convergence.resources.protocol.verb_values import VerbResult
from heat_convergence.stacks import quotas
from heat_convergence.stacks.goal.nested_builder import PreparedNestedStack

_MAX_ROWS = 200  # of a transaction with several stacks: the jobs of all wait for its commit


@dataclass(frozen=True, slots=True)
class Creation:
    """A nested stack that is prepared, stored nowhere yet, and the job that creates it."""

    job: Job
    prepared: PreparedNestedStack

    @property
    def outcome(self) -> Outcome:
        """The outcome of the job; the end of the nested stack notifies the parent."""
        prepared = self.prepared
        busy = VerbResult(
            ObservedState.BUSY, prepared.stack.id, data=prepared.data, poll_after_s=None
        )
        return Outcome(self.job, result=busy)

    @property
    def new_goal(self) -> NewGoal:
        """The goal of the nested stack."""
        prepared = self.prepared
        return NewGoal(prepared.goal, prepared.desired_resources, prepared.contents)


def is_creation(job: Job) -> bool:
    """Return whether the job creates a nested stack, and adopts nothing."""
    return job.step.traits.creates and job.step is not JobStep.ADOPT


def prepare_batches(
    jobs: Iterable[Job], prepare: Callable[[Job], Creation]
) -> Iterator[list[Creation]]:
    """Prepare jobs, and yield them as they are to share transactions."""
    batch: list[Creation] = []
    rows = 0
    for job in jobs:
        try:
            creation = prepare(job)
        except TRANSACTION_ERRORS:
            raise
        except Error:
            continue  # recorded when the job is done alone
        batch.append(creation)
        rows += len(creation.prepared.desired_resources) or 1  # there is the parent's, too
        if rows >= _MAX_ROWS:
            yield batch
            batch, rows = [], 0
    if batch:
        yield batch


def store_batch(
    tx: Transaction,
    batch: Sequence[Creation],
    token: str,
    context: TraversalContext,
    max_resources: int,
) -> tuple[OutgoingMessage, ...]:
    """Store nested stacks and the rows of their parents at once (RULE 4).

    Jobs that the worker holds no longer are left out.

    Args:
        tx: the transaction.
        batch: the prepared creations.
        token: that of the jobs' leases.
        context: the time, the ids and the settings.
        max_resources: of the whole tree; negative for no limit.

    Raises:
        RequestLimitExceeded: the tree gets too large.
    """
    held = {job.row.id for job in held_jobs(tx, [each.job for each in batch], token)}
    stored = [each for each in batch if each.job.row.id in held]
    if not stored:
        return ()
    outcomes.record_outcomes(tx, [each.outcome for each in stored], token, context)
    started = traversal.create_stacks(
        tx, [(each.prepared.stack, each.new_goal) for each in stored], context
    )
    growth = sum(each.growth for each in started)
    quotas.check_tree_size(tx, stored[0].job.row, max_resources, growth)
    return tuple(message for each in started for message in each.outgoing_messages)
