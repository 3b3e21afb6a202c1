"""The sweep: it finds what a lost message would have started (RULE 1).

Called by the observer in intervals. One statement asks whether anything is due. If so, all
searches run, since each may make something due for the next. Each search is bounded and inside
an error boundary, so that one which raises does not keep the others from running.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial

from heat_convergence.convergence.lifecycle.sweeps import (
    cancel_nested_stack,
    dispatch_project,
    fail_overdue_stack,
    handle_timeout,
    resume_stalled,
)
from heat_convergence.convergence.ports.settings import ConvergenceSettings
from heat_convergence.convergence.ports.store import SweepRepository
from heat_convergence.observer.lost_jobs import LostJobs
from heat_convergence.observer.quarantine_retries import QuarantineRetries
from heat_convergence.observer.snapshot_cleanup import SnapshotCleanup
from heat_convergence.observer.stack_transactions import StackTransactions


@dataclass(frozen=True, slots=True, kw_only=True)
class Sweep:
    """The searches of one observer.

    Attributes:
        sweeps: The queries that find what is due.
    """

    sweeps: SweepRepository
    settings: ConvergenceSettings
    stacks: StackTransactions
    lost_jobs: LostJobs
    snapshot_cleanup: SnapshotCleanup
    quarantine: QuarantineRetries

    def run(self, now: datetime) -> None:
        """Search for everything that is overdue.

        Raises:
            Unavailable: The database does not answer.
        """
        limit = self.settings.sweep_limit
        late = now - timedelta(seconds=self.settings.repost_after_s)
        if not self._is_anything_due(now, late):
            return
        for search in (
            partial(self.lost_jobs.post_again, now, late),
            partial(self._end_overdue_stacks, now, limit),
            partial(self._cancel_nested_stacks, limit),
            partial(self._resume_stalled_stacks, late, limit),
            partial(self.snapshot_cleanup.delete_due, now),
            partial(self.quarantine.retry_due, now),
            partial(self._dispatch_projects, late, limit),
        ):
            self.stacks.boundary.search(search)

    def _is_anything_due(self, now: datetime, late: datetime) -> bool:
        """Return whether a search would find anything, and true if the query raises."""
        due = True

        def query() -> None:
            nonlocal due
            due = self.sweeps.is_anything_due(now, late)

        self.stacks.boundary.search(query)
        return due

    def _end_overdue_stacks(self, now: datetime, limit: int) -> None:
        for stack_id in self.sweeps.find_overdue_stacks(now, limit):
            step = partial(handle_timeout, stack_id=stack_id)
            error_id = self.stacks.run_step(stack_id, step)
            if error_id is not None:
                fail = partial(fail_overdue_stack, stack_id=stack_id, error_id=error_id)
                self.stacks.run_step(stack_id, fail)

    def _cancel_nested_stacks(self, limit: int) -> None:
        for stack_id in self.sweeps.find_cancelled_nested_stacks(limit):
            self.stacks.run_step(stack_id, partial(cancel_nested_stack, stack_id=stack_id))

    def _resume_stalled_stacks(self, late: datetime, limit: int) -> None:
        for stack_id, version in self.sweeps.find_stalled_stacks(late, limit):
            step = partial(resume_stalled, stack_id=stack_id, version=version)
            self.stacks.run_step(stack_id, step)

    def _dispatch_projects(self, late: datetime, limit: int) -> None:
        for project_id in self.sweeps.find_projects_with_schedulable_jobs(late, limit):
            self.stacks.run_step(project_id, partial(dispatch_project, project_id=project_id))
