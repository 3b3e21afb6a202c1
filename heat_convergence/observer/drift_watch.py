"""The watch: it compares the resources of complete stacks with the cloud.

Called by the daemon's timer through ``tick``. Decides when which resources are read and what is
recorded of them. All resources of one type in one project and region are read together; a group in
which nothing changes is read less often. It must not change anything in the cloud; the repairs
that it lets ``drift_repairs`` start are traversals, which engines do.
"""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from functools import partial

from heat_convergence.common.failures import Unavailable
from heat_convergence.common.fair_executor import SlotGroups
from heat_convergence.common.transactions import retry_transaction
from heat_convergence.convergence.drift.observation import (
    DRIFTED,
    MassLossBreaker,
    ObservationSource,
    WatchedResource,
    WatchGroup,
    WatchResult,
)
from heat_convergence.convergence.drift.policy import ResourcePolicy, resolve_policy
from heat_convergence.convergence.drift.read_times import next_read_at
from heat_convergence.convergence.model.action import Action
from heat_convergence.observer.drift_observations import (
    LossRule,
    WatchMember,
    WatchRead,
    read_group,
)
from heat_convergence.observer.drift_repairs import DriftRepairs
from heat_convergence.observer.drift_reports import DriftReports
from heat_convergence.observer.poll_pool import InlinePollPool, PollPool, PollsInProgress
from heat_convergence.observer.stack_boundary import StackBoundary
from heat_convergence.resources.openstack.project_lists import shared_list
from heat_convergence.resources.openstack.shared_lists import ListRound, UnshareableLists
from heat_convergence.resources.protocol.call_groups import call_groups
from heat_convergence.resources.protocol.resource_context import (
    VerbInputs,
    build_context,
    with_name_limit,
)
from heat_convergence.resources.protocol.resource_type import ResourceType
from heat_convergence.resources.protocol.verb_values import ResourceContext
from heat_convergence.resources.protocol.watchable import is_read_by_watch
from heat_convergence.stacks.daemon_services import (
    DEFAULT_EVALUATION,
    DaemonServices,
    EvaluationServices,
)
from heat_convergence.template.environment.drift_policies import DriftPolicy

LOG = logging.getLogger(__name__)
_CLOCK_ERROR_S = 0.5  # between the times of two observers
_PAUSE_AFTER_READ = timedelta(seconds=1)  # until a change during the read causes another one


@dataclass(frozen=True, slots=True)
class _GroupRead:
    """A group, what is known of it, and the members that are read."""

    group: WatchGroup
    resource_type: ResourceType
    members: Sequence[WatchMember]
    started_at: datetime
    obsolete: tuple[str, ...] = ()
    is_empty: bool = False
    breakers: Mapping[str, MassLossBreaker] = field(default_factory=dict)  # by region
    shared_key: str | None = None
    has_unread: bool = False
    result: WatchRead = field(default_factory=WatchRead)


class DriftWatch:
    """The part of the watch that one worker process does."""

    def __init__(
        self,
        services: DaemonServices,
        evaluation: EvaluationServices = DEFAULT_EVALUATION,
        *,
        request_tick: Callable[[], None] = lambda: None,
        pool: PollPool | None = None,
    ) -> None:
        self._watch = services.store.watch
        self._registry = services.registry
        self._clock = services.clock
        self._ids = services.ids
        self._settings = services.settings
        self._wait = services.wait
        self._errors = services.errors
        own, shared = evaluation.cloud_of, evaluation.watch_cloud_of
        self._cloud_of = shared or (lambda tree_id, _project_id, _lists: own(tree_id))
        self._shares_lists = shared is not None
        self._unshareable = UnshareableLists()
        self._request_tick = request_tick
        self._boundary = StackBoundary(services.errors)
        self._reads = PollsInProgress(
            pool or InlinePollPool(), services.settings.observation_limit_s
        )
        self._done: deque[_GroupRead] = deque()
        self._changed_while_read: set[tuple[str, str]] = set()
        self._implementations = sorted(
            each.name for each in services.registry if is_read_by_watch(each)
        )
        self._last_stack_id = ""
        self._reports = DriftReports(services.announce)
        self._repairs = DriftRepairs(services)
        self._next_discovery_at = self._next_read_at = self._next_repair_at = services.clock()

    def tick(self) -> float:
        """Do what is due; return the seconds until something may be due again."""
        interval_s = self._settings.watch_interval_s
        if not interval_s or not self._implementations:
            return self._settings.watch_interval_max_s
        try:
            return self._run_due(self._clock(), interval_s)
        except Unavailable as error:
            LOG.warning(
                "watch aborted, database unavailable: retry_in_s=%(seconds)s error=%(error)s",
                {"seconds": interval_s, "error": error.log_text},
            )
            return interval_s

    def expect_read(self) -> None:
        """Look for due groups at the next tick, because hints have made some due."""
        self._next_read_at = self._clock()

    def _run_due(self, now: datetime, interval_s: float) -> float:
        if now >= self._next_discovery_at:
            self._next_discovery_at = now + timedelta(seconds=interval_s)
            self._boundary.search(partial(self._discover_groups, now))
            self._next_read_at = now
        if now >= self._next_read_at:
            self._next_read_at = now + timedelta(seconds=interval_s)
            self._boundary.search(partial(self._start_due_reads, now))
        if self._done:
            self._boundary.search(self._record_results)
        if now >= self._next_repair_at:
            self._next_repair_at = now + timedelta(seconds=interval_s)
            self._boundary.search(partial(self._repairs.end_due, now))
            self._boundary.search(partial(self._repairs.start_due, now))
        next_at = min(self._next_read_at, self._next_discovery_at, self._next_repair_at)
        return max(0.0, (next_at - self._clock()).total_seconds())

    def _discover_groups(self, now: datetime) -> None:
        """Add the groups of another page of stacks; in time of all, whoever completed them."""
        limit = self._settings.sweep_limit
        stack_ids = self._watch.list_complete_stacks(self._last_stack_id, limit)
        self._last_stack_id = stack_ids[-1] if len(stack_ids) == limit else ""
        if stack_ids:
            interval_s = self._settings.watch_interval_s
            add = partial(
                self._watch.add_groups, stack_ids, self._implementations, now, interval_s
            )
            retry_transaction(add, wait=self._wait)

    def _start_due_reads(self, now: datetime) -> None:
        # A group whose worker dies is read again after the time that its read may take.
        until = self._taken_until(now)
        limit = self._settings.watch_groups_limit
        groups = retry_transaction(
            partial(self._watch.take_due_groups, now, until, limit), wait=self._wait
        )
        by_project: dict[str, list[WatchGroup]] = {}
        for group in groups:
            by_project.setdefault(group.project_id, []).append(group)
        lists = ListRound(self._unshareable)
        planned: list[_GroupRead] = []
        for project_id, some in sorted(by_project.items()):
            plan = partial(self._plan_reads, project_id, some, now, lists)
            self._boundary.run(project_id, partial(_add_reads, planned, plan))
        # A list may serve several projects: the rows of all are read before the first call, so
        # that no list is older than what it is compared with.
        for read in planned:
            self._boundary.run(read.group.project_id, partial(self._start_read, read))
        next_at = self._watch.get_next_time()
        if next_at is not None and next_at < self._next_read_at:
            self._next_read_at = next_at

    def _taken_until(self, now: datetime) -> datetime:
        limit_s = self._settings.observation_limit_s + self._settings.watch_interval_s
        return now + timedelta(seconds=limit_s)

    def _plan_reads(
        self, project_id: str, groups: Sequence[WatchGroup], now: datetime, lists: ListRound
    ) -> list[_GroupRead]:
        """Return what is to be read of a project, and tell which lists serve it."""
        names = [group.implementation for group in groups]
        found = self._watch.list_watched(project_id, names)
        by_type: dict[str, list[WatchedResource]] = {}
        for each in found.resources:
            by_type.setdefault(each.row.desired.implementation, []).append(each)
        planned = []
        for group in groups:
            name = group.implementation
            resource_type = self._registry.find(name)
            if resource_type is None:
                continue  # another observer may have it
            shared = shared_list(resource_type) if self._shares_lists else None
            some, ignored = self._with_policies(by_type.get(name, ()))
            read = _GroupRead(
                group,
                resource_type,
                self._members(resource_type, some, now, lists),
                now,
                (*found.obsolete.get(name, ()), *ignored),
                name not in found.existing,
                {each.region: each for each in found.breakers if each.implementation == name},
                None if shared is None else f"{shared.service}{shared.path}",
                name in found.unread,
            )
            if shared is not None and read.members:
                lists.expect(shared, project_id)
            planned.append(read)
        return planned

    def _start_read(self, read: _GroupRead) -> None:
        if not read.members:
            self._done.append(read)
            return
        slots = self._slots(read.resource_type, read.members)
        key = ("watch", *read.group.key)
        if not self._reads.start(key, slots, partial(self._read, read)):
            self._changed_while_read.add(read.group.key)

    def _slots(self, resource_type: ResourceType, members: Sequence[WatchMember]) -> SlotGroups:
        """Return the groups of the calls; none if no member's credential can be read."""
        found: list[SlotGroups] = []
        for member in members:
            add = partial(_add_slots, found, resource_type, member.context)
            if self._boundary.run(member.watched.row.stack_id, add) is None:
                break
        return found[0] if found else ()

    def _with_policies(
        self, resources: Sequence[WatchedResource]
    ) -> tuple[list[tuple[WatchedResource, ResourcePolicy]], list[str]]:
        """Return the resources to read with their policies, and ids of observations to delete."""
        found, ignored = [], []
        for each in resources:
            policy = resolve_policy(
                each.row.desired.hooks_and_restrictions,
                each.stack_policy,
                each.row.identity.type,
                self._settings.drift.policies,
            )
            if not policy.is_ignored:
                found.append((each, policy))
            elif each.recorded is not None:
                ignored.append(each.row.id)
        return found, ignored

    def _members(
        self,
        resource_type: ResourceType,
        resources: Sequence[tuple[WatchedResource, ResourcePolicy]],
        now: datetime,
        lists: ListRound,
    ) -> list[WatchMember]:
        members = []
        for each, policy in resources:
            # The action decides what an observation may change: a check changes nothing.
            action = Action.SUSPEND if each.row.physical.suspended else Action.CHECK
            cloud = self._cloud_of(each.stack.tree_id, each.stack.project_id, lists)
            inputs = VerbInputs(cloud=cloud)
            context = build_context(each.row, each.stack, action, now, inputs)
            context = with_name_limit(context, resource_type.physical_name_limit)
            members.append(WatchMember(each, context, policy))
        return members

    def _read(self, read: _GroupRead) -> None:
        """Read a group, perhaps in another thread; the next round records the result."""
        rule = LossRule(self._settings.drift.mass_loss, read.breakers)
        result = read_group(read.resource_type, read.members, read.started_at, self._errors, rule)
        source = _source(read.group, read.shared_key)
        changed = tuple(replace(each, source=source) for each in result.changed)
        self._done.append(replace(read, result=replace(result, changed=changed)))
        self._request_tick()

    def _record_results(self) -> None:
        while self._done:
            read = self._done.popleft()
            self._boundary.run(read.group.project_id, partial(self._record, read))

    def _record(self, read: _GroupRead) -> None:
        interval_s = self._next_interval_s(read)
        next_at = next_read_at(read.started_at, interval_s, read.shared_key)
        if read.group.key in self._changed_while_read:
            self._changed_while_read.discard(read.group.key)
            # However short the read was, hints cause no two reads within the pause.
            next_at = max(self._clock(), read.started_at + _PAUSE_AFTER_READ)
            self._next_read_at = min(self._next_read_at, next_at)
        group = replace(
            read.group,
            interval_s=interval_s,
            next_at=next_at,
            observed_at=read.group.observed_at if read.result.reason else read.started_at,
            reason=read.result.reason,
        )
        opened, closed = self._breakers_after(read)
        result = WatchResult(
            read.result.changed,
            read.obsolete,
            read.is_empty,
            opened,
            closed,
            self._taken_until(read.started_at),
        )
        retry_transaction(partial(self._watch.record, group, result), wait=self._wait)
        self._reports.report_unread(read.group, read.result.reason)
        watched = (member.watched for member in read.members)
        self._reports.report_observations(watched, read.result.changed)
        if _may_need_repairs(read):
            self._next_repair_at = read.started_at

    def _breakers_after(
        self, read: _GroupRead
    ) -> tuple[tuple[MassLossBreaker, ...], tuple[str, ...]]:
        """Return the breakers to store after a read, and ids of those to delete.

        A breaker whose region could not be read stays as it is. RULE 10: so does one that nobody
        has confirmed while resources are not read: they may be those that were missing.
        """
        opened = []
        for loss in read.result.losses:
            known = read.breakers.get(loss.region)
            if known is None:
                known = loss.open_breaker(self._ids(), read.group, read.started_at)
                opened.append(known)
                self._reports.report_breaker(known, is_open=True)
            elif (known.lost, known.total) != (loss.lost, loss.total):
                opened.append(replace(known, lost=loss.lost, total=loss.total))
        regions = {loss.region for loss in read.result.losses} | read.result.unread_regions
        closed = [
            each
            for region, each in read.breakers.items()
            if region not in regions and (each.confirmed or not read.has_unread)
        ]
        for each in closed:
            self._reports.report_breaker(each, is_open=False)
        return tuple(opened), tuple(each.id for each in closed)

    def _next_interval_s(self, read: _GroupRead) -> float:
        """Return the shortest interval while something changes, else twice the last one."""
        shortest_s = self._settings.watch_interval_s
        longest_s = self._settings.watch_interval_max_s
        recent = read.started_at - timedelta(seconds=longest_s)
        if read.result.changed or any(_changed_since(each, recent) for each in read.members):
            return shortest_s
        return min(2 * read.group.interval_s, longest_s)


def _may_need_repairs(read: _GroupRead) -> bool:
    """Return whether something that a policy repairs has drifted, or had before this read.

    The latter may be missing, which this read has confirmed.
    """
    recorded = (member.watched.recorded for member in read.members)
    observations = (*read.result.changed, *(each for each in recorded if each is not None))
    return any(
        each.policy is DriftPolicy.REPAIR and each.status in DRIFTED for each in observations
    )


def _add_reads(planned: list[_GroupRead], plan: Callable[[], list[_GroupRead]]) -> None:
    planned += plan()


def _add_slots(
    found: list[SlotGroups], resource_type: ResourceType, context: ResourceContext
) -> None:
    found.append(call_groups(resource_type, context))


def _source(group: WatchGroup, shared_key: str | None) -> ObservationSource:
    """Return how a group came to be read: a hint makes it due before its interval has passed."""
    if group.observed_at is None or group.reason:
        return ObservationSource.SWEEP
    planned_at = next_read_at(group.observed_at, group.interval_s, shared_key)
    is_hinted = group.next_at < planned_at - timedelta(seconds=_CLOCK_ERROR_S)
    return ObservationSource.NOTIFICATION if is_hinted else ObservationSource.SWEEP


def _changed_since(member: WatchMember, time: datetime) -> bool:
    row = member.watched.row
    return (row.state.updated_at or row.identity.created_at) > time
