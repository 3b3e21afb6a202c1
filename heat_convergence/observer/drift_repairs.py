"""The repairs that the service starts by itself.

Called by ``drift_watch`` when resources were read. Decides nothing about single resources: their
policies, the budget and the state of their stack do. It must not call other services.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from functools import partial
from itertools import groupby

from heat_convergence.common.transactions import retry_transaction
from heat_convergence.convergence.drift.repair_budget import RepairCandidate
from heat_convergence.convergence.drift.repair_end import RepairEnd
from heat_convergence.convergence.lifecycle.context import TraversalContext
from heat_convergence.convergence.lifecycle.drift import repair_start
from heat_convergence.convergence.lifecycle.outgoing_messages import send_messages
from heat_convergence.convergence.lifecycle.plan_storage import StartedTraversal
from heat_convergence.observer.drift_reports import DriftReports
from heat_convergence.observer.stack_boundary import StackBoundary
from heat_convergence.stacks.contained_bus import ContainedBus
from heat_convergence.stacks.daemon_services import DaemonServices
from heat_convergence.stacks.event_log import EventLog


class DriftRepairs:
    """The repairs that one worker process starts."""

    def __init__(self, services: DaemonServices) -> None:
        self._services = services
        self._limits = services.settings.drift.repairs
        self._boundary = StackBoundary(services.errors)
        self._reports = DriftReports(services.announce)
        self._bus = ContainedBus(services.bus, services.errors)

    def end_due(self, now: datetime) -> None:
        """Report and record the ends of repairs, whichever process has started them."""
        services = self._services
        found = services.store.repairs.list_ended(now, services.settings.sweep_limit)
        by_project = sorted(found, key=lambda each: (each.repair.project_id, each.repair.key))
        for project_id, some in groupby(by_project, key=lambda each: each.repair.project_id):
            self._boundary.run(project_id, partial(self._end, project_id, list(some), now))

    def _end(self, project_id: str, ends: Sequence[RepairEnd], now: datetime) -> None:
        # In this order a process that dies in between, or another observer, reports it again.
        self._reports.report_ends(ends)
        record = partial(self._services.store.repairs.record_ends, project_id, ends, now)
        retry_transaction(record, wait=self._services.wait)

    def start_due(self, now: datetime) -> None:
        """Start the repairs that are due and that the budgets of their projects allow."""
        services = self._services
        limit = services.settings.sweep_limit
        candidates = services.store.repairs.list_candidates(now, limit)
        by_project = sorted(candidates, key=lambda each: (each.project_id, each.key))
        for project_id, some in groupby(by_project, key=lambda each: each.project_id):
            self._boundary.run(project_id, partial(self._grant, project_id, list(some), now))

    def _grant(
        self, project_id: str, candidates: Sequence[RepairCandidate], now: datetime
    ) -> None:
        repairs = self._services.store.repairs
        grant = partial(repairs.grant, project_id, candidates, self._limits, now)
        decision = retry_transaction(grant, wait=self._services.wait)
        self._reports.report_suspended(decision.suspended)
        by_stack = sorted(decision.granted, key=lambda each: each.key)
        for stack_id, some in groupby(by_stack, key=lambda each: each.stack_id):
            self._boundary.run(stack_id, partial(self._repair, list(some), now))

    def _repair(self, granted: Sequence[RepairCandidate], now: datetime) -> None:
        """Start the repair of one stack; it counts as no try if the stack is not at rest."""
        services = self._services
        started = retry_transaction(partial(self._start, granted, now), wait=services.wait)
        if started is None:
            undo = partial(services.store.repairs.undo, granted, self._limits, now)
            retry_transaction(undo, wait=services.wait)
            return
        send_messages(self._bus, started.outgoing_messages, services.settings)
        self._reports.report_repair(granted)

    def _start(self, granted: Sequence[RepairCandidate], now: datetime) -> StartedTraversal | None:
        services, log = self._services, EventLog(self._services.errors)
        context = TraversalContext(now, services.ids, services.settings, report=log.add)
        watch, stack_id = services.store.watch, granted[0].stack_id
        stack_policy = watch.get_stack_policy(stack_id)
        with services.store.transaction() as tx:
            started = repair_start.start_repair(tx, granted, stack_policy, context)
        log.flush()
        return started
