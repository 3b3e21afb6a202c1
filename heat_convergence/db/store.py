"""The SQL store: the ports of ``convergence.ports`` over one database.

Called by the API, the engines and the observers.  Every method of a repository is one
statement or a few; nothing is decided here.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial

from sqlalchemy.engine import Connection

from heat_convergence.common.error_boundary import BoundaryName, ErrorBoundary
from heat_convergence.common.error_log import ErrorLog
from heat_convergence.convergence.model.notification_events import (
    NotificationEvent,
    NotifyCallback,
)
from heat_convergence.convergence.ports.store import Transaction
from heat_convergence.db.connection.database import Database
from heat_convergence.db.drift.repair_repository import SqlRepairRepository
from heat_convergence.db.drift.watch_repository import SqlWatchRepository
from heat_convergence.db.plans.repository import SqlPlanRepository
from heat_convergence.db.quarantine_repository import SqlQuarantineRepository
from heat_convergence.db.repositories.contents import SqlContentRepository
from heat_convergence.db.repositories.events import DeferredEvents
from heat_convergence.db.repositories.goals import SqlGoalRepository
from heat_convergence.db.repositories.graph import SqlGraphRepository
from heat_convergence.db.repositories.incarnations import SqlIncarnationRepository
from heat_convergence.db.repositories.jobs import SqlJobRepository
from heat_convergence.db.repositories.leases import SqlLeaseRepository
from heat_convergence.db.repositories.readiness import SqlReadinessRepository
from heat_convergence.db.repositories.resources import SqlResourceRepository
from heat_convergence.db.repositories.snapshots import SqlSnapshotRepository
from heat_convergence.db.repositories.stacks import SqlStackRepository
from heat_convergence.db.repositories.sweeps import SqlSweepRepository
from heat_convergence.db.repositories.tree import SqlTreeRepository
from heat_convergence.db.repositories.workers import SqlWorkerRepository
from heat_convergence.db.statements import notification_events


class SqlTransaction:
    """The repositories of ``convergence.ports.store.Transaction`` on one connection."""

    def __init__(self, connection: Connection) -> None:
        """Use ``connection``, which is in a transaction."""
        self.stacks = SqlStackRepository(connection)
        self.goals = SqlGoalRepository(connection)
        self.contents = SqlContentRepository(connection)
        self.snapshots = SqlSnapshotRepository(connection)
        self.plans = SqlPlanRepository(connection)
        self.tree = SqlTreeRepository(connection)
        self.resources = SqlResourceRepository(connection)
        self.incarnations = SqlIncarnationRepository(connection)
        self.leases = SqlLeaseRepository(connection)
        self.jobs = SqlJobRepository(connection)
        self.graph = SqlGraphRepository(connection)
        self.readiness = SqlReadinessRepository(connection)
        self.events = DeferredEvents(connection)
        self.quarantine = SqlQuarantineRepository(connection)


class SqlStore:
    """``convergence.ports.store.Store`` on a database."""

    def __init__(
        self,
        database: Database,
        notify: NotifyCallback | None = None,
        errors: ErrorLog | None = None,
    ) -> None:
        """Open a store.

        Args:
            database: where the rows are.
            notify: is called with the stacks' own events once they are committed. What it
                raises is logged, lest a committed transaction be retried.
            errors: the log of unexpected errors.
        """
        self.database = database
        self.sweeps = SqlSweepRepository(database)
        self.workers = SqlWorkerRepository(database)
        self.watch = SqlWatchRepository(database)
        self.repairs = SqlRepairRepository(database)
        self._notify = notify
        self._boundary = ErrorBoundary(BoundaryName.NOTIFICATION, errors or ErrorLog())

    @contextmanager
    def transaction(self) -> Iterator[Transaction]:
        """Open a transaction, and notify of its stack events after the commit."""
        with self.database.write() as connection:
            tx = SqlTransaction(connection)
            yield tx
            tx.events.insert_deferred()
            new: list[NotificationEvent] = []
            if self._notify is not None and tx.events.stack_events:
                new = notification_events.get_notification_events(
                    connection, tx.events.stack_events
                )
        if self._notify is not None and new:
            self._boundary.contain(partial(self._notify, new))

    @contextmanager
    def read(self) -> Iterator[Transaction]:
        """Open a transaction for reading; nothing is committed."""
        with self.database.read() as connection:
            yield SqlTransaction(connection)
