"""A worker: takes jobs, does the one thing each resource needs, records it.

Called by the RPC server with (stack, version, resource ids), by a timer to renew
leases.  Never waits for the cloud to finish and never decides what comes next:
that is the observer's.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta

from heat_convergence.common.clock import Clock
from heat_convergence.common.errors import InvalidEncryptionKey, StorageRefused, Unavailable
from heat_convergence.common.ids import IdFactory
from heat_convergence.common.retrying import Wait, persistently
from heat_convergence.convergence.dispatch import Daemon, Posting, joined, take_turns
from heat_convergence.convergence.model import JobState, Resource, Stack
from heat_convergence.convergence.ports import Bus, Settings, Store, Transaction
from heat_convergence.convergence.traversal import cast
from heat_convergence.engine import recording
from heat_convergence.engine.jobs import Claim, Job, make_job
from heat_convergence.engine.leases import Leases
from heat_convergence.engine.nesting import Bounds, Nester, is_nested
from heat_convergence.engine.performing import Outcome, perform
from heat_convergence.engine.pool import Pool
from heat_convergence.engine.rivals import rivals_of
from heat_convergence.resources.nesting.child import Children
from heat_convergence.resources.plugin import CloudOf, no_cloud
from heat_convergence.resources.registry import Registry
from heat_convergence.template.definition import contents_of
from heat_convergence.template.functions.base import NO_FUNCTIONS, Function
from heat_convergence.template.limits import DEFAULT, Limits

LOG = logging.getLogger(__name__)


class Engine:
    """One worker process's share of the work.

    ``owner`` is its identity, new at every start; leases are held under it.
    ``functions`` are the plug-ins' template functions.
    """

    def __init__(
        self,
        *,
        store: Store,
        bus: Bus,
        registry: Registry,
        clock: Clock,
        ids: IdFactory,
        settings: Settings,
        pool: Pool,
        owner: str,
        wait: Wait,
        cloud_of: CloudOf = no_cloud,
        functions: Mapping[str, Function] = NO_FUNCTIONS,
        limits: Limits = DEFAULT,
        nester: Nester | None = None,
    ) -> None:
        self._store = store
        self._bus = bus
        self._registry = registry
        self._clock = clock
        self._ids = ids
        self._settings = settings
        self._pool = pool
        self._owner = owner
        self._wait = wait
        self._cloud_of = cloud_of
        self._functions = functions
        self._limits = limits
        self._nester = nester or Nester(
            store=store,
            children=Children(registry, clock),
            clock=clock,
            ids=ids,
            settings=settings,
            bounds=Bounds(),
        )
        self._leases = Leases()

    def converge(self, stack_id: str, version: int, resource_ids: Sequence[str]) -> None:
        """Does the jobs among ``resource_ids`` that are still to be done.

        A message is a hint (RULE 1): what is held by another worker, done already,
        blocked, or of another version is passed over.
        """
        token = self._ids()
        with self._leases.working(token):
            self._work(stack_id, version, resource_ids, token)

    def _work(
        self, stack_id: str, version: int, resource_ids: Sequence[str], token: str
    ) -> None:
        def held() -> bool:
            return self._leases.certain(token, self._clock())

        try:
            jobs, postings = persistently(
                lambda: self._take(stack_id, version, resource_ids, token), wait=self._wait
            )
            cast(self._bus, postings, self._settings)
            self._nest_all([job for job in jobs if is_nested(job)], token)
            flat = [job for job in jobs if not is_nested(job)]
            for outcomes in self._pool.run(lambda job: perform(job, held), flat):
                self._finish([outcome for outcome in outcomes if not outcome.lost], token)
        except Unavailable as error:
            # The rows say what was begun; a sweep has it done again.
            LOG.warning("jobs given up: stack %(stack)s, error %(error)s",
                        {"stack": stack_id, "error": str(error)})

    def renew(self) -> None:
        """Keeps the leases of calls that take long; what was given up runs out."""
        now = self._clock()
        tokens = self._leases.held(now)
        if not tokens:
            return
        until = now + timedelta(seconds=self._settings.lease_s)
        self._store.renew_leases(self._owner, tokens, until)
        self._leases.renewed(tokens, until, self._clock())

    def _take(
        self, stack_id: str, version: int, resource_ids: Sequence[str], token: str
    ) -> tuple[list[Job], tuple[Posting, ...]]:
        """The claimed jobs, and those whose turn it is now that these are off the bus.

        Also for a message that is void: its place on the bus is free all the same.
        """
        now, jobs = self._clock(), []
        with self._store.transaction() as tx:
            found = tx.stack_at_work(stack_id)
            if found is None:
                LOG.info("message dropped: there is no stack %s", stack_id)
                return [], ()
            stack, load = found
            if stack.version == version:
                jobs = self._claim(tx, stack, resource_ids, now)
                self._write_claims(tx, jobs, token, now)
            if not jobs:
                LOG.info(
                    "message dropped: nothing to do of stack %s version %s", stack_id, version
                )
            # As it is with these off the bus.
            taken = len(jobs)
            load = replace(load, posted=max(load.posted - taken, 0), begun=load.begun + taken)
            postings = take_turns(
                tx, stack.project_id, stack.tree_id, self._settings, now, load
            )
        return jobs, postings

    def _claim(
        self, tx: Transaction, stack: Stack, resource_ids: Sequence[str], now: datetime
    ) -> list[Job]:
        version = stack.version
        rows = [row for row in tx.claimable(resource_ids) if _open(row, version, now)]
        # RULE 2: nothing starts before all that it needs is ready.
        blocked = tx.unready_needs(version, [row.id for row in rows])
        rows = [row for row in rows if row.id not in blocked and row.stack_id == stack.id]
        names = {name for row in rows for name in row.draws_on}
        keys = {key for row in rows for key in contents_of(row.definition)}
        claim = Claim(
            stack=stack,
            inputs=tx.inputs(stack.id, names),
            registry=self._registry,
            now=now,
            contents=tx.get_contents(keys) if keys else {},
            cloud=self._cloud_of(stack.tree_id),
            functions=self._functions,
            limits=self._limits,
            rivals=rivals_of(tx, stack.id, rows, self._registry),
        )
        return [make_job(row, claim) for row in rows]

    def _write_claims(
        self, tx: Transaction, jobs: Sequence[Job], token: str, now: datetime
    ) -> None:
        # RULE 3 and 4: the lease and the intent are in the rows before any call.
        until = now + timedelta(seconds=self._settings.lease_s)
        lease = {
            "job_state": JobState.BEGUN,
            "lease_owner": self._owner,
            "lease_token": token,
            "lease_expires_at": until,
        }
        self._leases.taken(token, until)
        recording.write_claims(tx, jobs, lease, now, self._ids)

    def _nest_all(self, jobs: Sequence[Job], token: str) -> None:
        """Stacks that end as they begin, for there is nothing in them, are told of
        together: an observer takes note of any number at about the cost of one."""
        told: list[Posting] = []
        try:
            for job in jobs:
                postings = self._nest(job, token)
                told += [each for each in postings if each.to is Daemon.OBSERVER]
                others = [each for each in postings if each.to is not Daemon.OBSERVER]
                cast(self._bus, others, self._settings)
        finally:  # what one job came upon keeps no other's stack waiting for a sweep
            cast(self._bus, joined(told), self._settings)

    def _nest(self, job: Job, token: str) -> tuple[Posting, ...]:
        recorded, postings = persistently(
            lambda: self._nester.do(job, token), wait=self._wait
        )
        self._tell(job, recorded)
        return postings

    def _finish(self, outcomes: Sequence[Outcome], token: str) -> None:
        if not outcomes:
            return
        self._tell(outcomes[0].job, self._recorded(outcomes, token))

    def _tell(self, job: Job, recorded: recording.Recorded) -> None:
        stack_id, version = job.row.stack_id, job.row.version
        if recorded.current:
            self._bus.observe(stack_id, version, recorded.current)
        for newer, ids in sorted(recorded.superseded.items()):
            # RULE 6: what was begun is finished; its new goal may start now.
            self._bus.converge(stack_id, newer, ids)

    def _recorded(self, outcomes: Sequence[Outcome], token: str) -> recording.Recorded:
        """Records all at once or, where the database refuses one of them, each by
        itself; what can't be stored fails its resource instead of coming back."""
        try:
            return persistently(lambda: self._record(outcomes, token), wait=self._wait)
        except (StorageRefused, InvalidEncryptionKey) as error:
            if len(outcomes) == 1:
                failed = [outcomes[0].refused(error)]
                return persistently(lambda: self._record(failed, token), wait=self._wait)
        parts = [self._recorded([outcome], token) for outcome in outcomes]
        return recording.joined(parts)

    def _record(self, outcomes: Sequence[Outcome], token: str) -> recording.Recorded:
        with self._store.transaction() as tx:
            return recording.record(tx, outcomes, token, self._clock(), self._settings)


def _open(row: Resource, version: int, now: datetime) -> bool:
    return (
        row.version == version
        and row.job is not None
        and row.job_state is JobState.POSTED
        and row.observe_at is None
        and not row.leased(now)
    )
