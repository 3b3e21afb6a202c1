"""The preparation of a message's jobs: what they need is read and evaluated, without locks.

Called by ``job_claims`` before its transaction.  Decides which rows have a job that may be
claimed, and how many of them are prepared before the rest is left for other messages.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial

from heat_convergence.common.errors import Error
from heat_convergence.convergence.model.resource import Resource
from heat_convergence.convergence.ports.bus import ResourceHint
from heat_convergence.convergence.ports.leases import UnblockedResources
from heat_convergence.convergence.ports.store import Transaction
from heat_convergence.engine.claiming.prepared_jobs import (
    PreparedJobs,
    by_stack,
    create_in_time,
    is_claimable,
    reject_poisoned,
)
from heat_convergence.engine.job_boundary import JobBoundary
from heat_convergence.engine.jobs import ClaimContext, create_job, reject_job
from heat_convergence.stacks.daemon_services import DaemonServices, EvaluationServices
from heat_convergence.template.evaluation.resource_definition import collect_definition_hashes


@dataclass(frozen=True, slots=True)
class JobPreparation:
    """The preparation of jobs by one engine."""

    services: DaemonServices
    evaluation: EvaluationServices
    boundary: JobBoundary

    def prepare(self, hints: Sequence[ResourceHint], error: Error | None) -> PreparedJobs:
        """Return the jobs that may be claimed; with an error, they are rejected because of it."""
        now = self.services.clock()
        with self.services.store.read() as tx:
            # RULE 2: a job starts when everything that it needs is ready.
            unblocked = tx.leases.get_unblocked(
                {each.stack_id: each.resource_ids for each in hints}
            )
            rows = _claimable_rows(unblocked, hints, now)
            if error is not None:
                return PreparedJobs([reject_job(row, error) for row in rows], unblocked)
            limit = self.services.settings.max_job_takeovers
            rejected = reject_poisoned(rows, unblocked.takeovers, limit)
            poisoned = {job.row.id for job in rejected}
            rows = [row for row in rows if row.id not in poisoned]
            contexts = self._read_contexts(tx, unblocked, rows, now)
        created, postponed = create_in_time(
            rows,
            lambda row: self.boundary.create(
                row, partial(create_job, row, contexts[row.stack_id])
            ),
            self.services.clock,
            self.services.settings.preparation_s,
        )
        return PreparedJobs(rejected + created, unblocked, postponed)

    def _read_contexts(
        self,
        tx: Transaction,
        unblocked: UnblockedResources,
        rows: Sequence[Resource],
        now: datetime,
    ) -> Mapping[str, ClaimContext]:
        """Return what the jobs of each stack share, by stack."""
        names = {
            some[0].stack_id: {name for row in some for name in row.desired.referenced_names}
            for some in by_stack(rows)
        }
        definitions = [row.desired.definition for row in rows]
        keys = {key for each in definitions for key in collect_definition_hashes(each)}
        inputs = tx.incarnations.get_inputs_of_stacks(names) if names else {}
        contents = tx.contents.get(keys) if keys else {}
        return {
            stack_id: ClaimContext(
                stack=unblocked.stacks[stack_id],
                inputs=inputs[stack_id],
                registry=self.services.registry,
                now=now,
                contents=contents,
                cloud=self.evaluation.cloud_of(unblocked.stacks[stack_id].tree_id),
                functions=self.evaluation.functions,
                limits=self.evaluation.limits,
            )
            for stack_id in names
        }


def _claimable_rows(
    unblocked: UnblockedResources, hints: Sequence[ResourceHint], now: datetime
) -> list[Resource]:
    """Return the rows with jobs to claim, those of one stack after the other."""
    versions = {
        each.stack_id: each.version
        for each in hints
        if each.stack_id in unblocked.stacks
        and unblocked.stacks[each.stack_id].version == each.version
    }
    return [
        row
        for rows in by_stack(unblocked.rows)
        for row in rows
        if row.stack_id in versions and is_claimable(row, versions[row.stack_id], now)
    ]
