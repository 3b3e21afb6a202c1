"""What the algorithm needs from the world: a store, a bus, and settings.

The store's verbs are small; every one is a statement or two.  What happens
between them is written once, in this package and in the daemons, and runs the
same on the in-memory twin and on every database.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Protocol

from heat_convergence.convergence.model.action import Action
from heat_convergence.convergence.model.breakpoint_location import BreakpointLocation
from heat_convergence.convergence.model.event import Event
from heat_convergence.convergence.model.goal import Goal
from heat_convergence.convergence.model.graph_edge import Edge
from heat_convergence.convergence.model.resource import InputResource, Resource
from heat_convergence.convergence.model.service_record import ServiceRecord
from heat_convergence.convergence.model.snapshot import Snapshot
from heat_convergence.convergence.model.stack import Stack

_MOST_DOUBLINGS = 60  # beyond which a pause is no number any more


@dataclass(frozen=True, slots=True)
class ConvergenceSettings:
    """Numbers the algorithm works with; the daemons fill them from options."""

    batch_size: int = 25  # jobs in a message
    jobs_in_flight: int = 200  # per stack
    jobs_on_bus: int = 25  # per project: posted, and in no worker's hands yet
    jobs_in_hand: int = 400  # per project: on the bus or in workers' hands
    retry_limit: int = 5  # tries of one resource in one traversal
    retry_backoff_s: float = 1.0  # doubled at each try
    retry_backoff_max_s: float = 60.0
    lease_s: float = 10.0
    repost_after_s: float = 6.0  # a posted job nobody holds is posted again
    error_wait_s: float = 240.0  # how long siblings of a failed resource may take
    action_timeout_s: float = 3600.0
    sweep_interval_s: float = 3.0
    sweep_limit: int = 500

    def backoff_s(self, tries: int, asked_s: float | None = None) -> float:
        """How long to wait before the next try, at least what the service asks."""
        own_s: float = self.retry_backoff_s * 2 ** min(tries, _MOST_DOUBLINGS)
        return min(max(own_s, asked_s or 0.0), self.retry_backoff_max_s)


@dataclass(frozen=True, slots=True)
class JobRef:
    """A job that nobody works on, or one that may be posted."""

    stack_id: str
    version: int
    resource_id: str


@dataclass(frozen=True, slots=True)
class Workload:
    """Jobs under way; of those that wait, who may be very many, only if there are any."""

    posted: int = 0  # of the project: on the bus
    running: int = 0  # of the project: in workers' hands
    has_schedulable: bool = False  # whether the project has any that waits for its turn
    in_flight: int = 0  # of the stack: those in a state that ``COUNTED_IN_FLIGHT``
    has_queued: bool = False  # whether the stack has any that waits for room


class Transaction(Protocol):
    """One transaction: all of it happens, or nothing.

    ``lock_*`` hold what they return until the end.  Order of locks everywhere:
    stack, then resources by id; who locks no stack locks resources alone.
    """

    # -- stacks and goals
    def lock_stack(self, stack_id: str) -> Stack | None: ...
    def get_stack(self, stack_id: str) -> Stack | None: ...
    def get_stacks(self, ids: Collection[str]) -> Mapping[str, Stack]: ...
    def get_stack_with_workload(self, stack_id: str) -> tuple[Stack, Workload] | None:
        """The stack, and its project's ``get_workload``."""

    def get_descendant_stacks(self, root_id: str) -> list[Stack]:
        """All living stacks of the tree but its root, the deepest first; locks none."""

    def insert_stack(self, stack: Stack) -> None: ...
    def update_stack(self, stack_id: str, **values: Any) -> None: ...
    def insert_goal(self, goal: Goal) -> None: ...
    def get_goal(self, goal_id: str) -> Goal | None: ...
    def get_goal_row(self, goal_id: str) -> Goal | None:
        """As its row has it, see ``apart``: without what it has by hash."""

    def get_goal_rows(self, ids: Collection[str]) -> Mapping[str, Goal]: ...
    def delete_goals_except(self, stack_id: str, keep: Collection[str]) -> None: ...
    def put_contents(self, contents: Mapping[str, str]) -> None: ...
    def get_contents(self, hashes: Collection[str]) -> Mapping[str, str]: ...

    # -- users' snapshots
    def insert_snapshot(self, snapshot: Snapshot) -> None: ...
    def get_snapshot(self, stack_id: str, snapshot_id: str) -> Snapshot | None: ...
    def count_snapshots(self, stack_id: str) -> int: ...
    def finish_snapshot(self, stack_id: str, version: int, **values: Any) -> None:
        """Sets columns of the snapshot which that traversal takes; ``data`` come with
        ``sensitive``, as in ``update_snapshot``."""

    def update_snapshot(self, snapshot_id: str, **values: Any) -> None: ...
    def delete_snapshot(self, snapshot_id: str) -> None: ...
    def get_tags(self, stack_id: str) -> tuple[str, ...]: ...
    def schedule_snapshot_deletion(self, stack_id: str, now: datetime) -> None:
        """All snapshots of the stack are DELETE IN_PROGRESS, and due at once."""

    def delete_stack_snapshots(self, stack_id: str) -> None:
        """Deletes all snapshots of the stack; what resources saved stays."""

    def find_breakpoint_locations(self, stacks: Collection[Stack]) -> list[BreakpointLocation]:
        """Where those of ``stacks`` that are in progress wait at breakpoints, by stack
        and path: HELD resources of their own and of stacks in progress below them, a
        thousand at most."""

    def list_ancestor_resources(self, stack_id: str) -> list[Resource]:
        """The rows that the stack and those above it are behind, from the nearest up
        to the root's; light, as ``lock_resources``, but locks none."""

    def count_tree_resources(self, root_id: str) -> int:
        """How many wanted resources the stacks of a tree have."""

    # -- resources
    def insert_resources(self, resources: Sequence[Resource]) -> None: ...
    def lock_claimable(self, ids: Collection[str]) -> list[Resource]:
        """Locks and returns whole rows, without those that another transaction
        holds: who claims never waits."""

    def lock_leased(self, ids: Collection[str], token: str) -> Mapping[str, int]:
        """Locks those of ``ids`` still leased under ``token``; id → version now."""

    def save_leased(
        self, resource_id: str, token: str, version: int, values: Mapping[str, Any]
    ) -> bool:
        """Sets columns, as ``save_resources``, if the row is still leased under
        ``token`` and of that version; whether it was."""

    def lock_resources(self, ids: Collection[str]) -> list[Resource]:
        """Locks rows and returns them without definition, properties, attributes
        and data, which are empty."""

    def lock_resources_with_jobs(self, stack_id: str) -> list[Resource]:
        """Locks the stack's rows that have a job; light, as ``lock_resources``."""

    def lock_stack_resources(self, stack_id: str) -> list[Resource]:
        """Locks the stack's rows and returns them, by id, as a plan needs them: without
        attributes, and of properties only whether there are any, None or empty."""

    def get_stack_resources(self, stack_id: str) -> list[Resource]:
        """All rows of the stack, by id; locks none."""

    def get_resources(self, ids: Collection[str]) -> list[Resource]: ...
    def get_inputs(self, stack_id: str, names: Collection[str]) -> Mapping[str, InputResource]: ...
    def update_resources(self, ids: Collection[str], **values: Any) -> None:
        """The same values for all of them, in one statement."""

    def save_resources(self, changes: Mapping[str, Mapping[str, Any]]) -> None:
        """Resource id → the columns that change; every mapping has the same keys."""

    def set_resource_versions(self, stack_id: str, version: int) -> None: ...
    def repost_jobs(self, ids: Collection[str], now: datetime) -> None:
        """Those of ``ids`` that are BEGUN are POSTED anew."""

    def mark_complete(self, ids: Collection[str], now: datetime) -> None:
        """The job is fulfilled: status COMPLETE, no job and no observation; and after
        CONVERGE, not after another verb, ``applied_hash`` is the definition's; after it and
        after RESUME it is not ``paused``."""

    def delete_resources(self, ids: Collection[str]) -> None: ...
    def delete_absent_resources(self, stack_id: str) -> None:
        """Deletes the rows desired absent that have no job any more, and their
        graph rows."""

    def delete_stack_resources(self, stack_id: str) -> None:
        """Deletes all resources and graph rows of the stack."""

    def list_incarnations(self, stack_id: str, names: Collection[str]) -> list[Resource]:
        """All rows of these names, wanted or not, by id; light."""

    def any_status_reason_startswith(self, stack_id: str, action: Action, beginning: str) -> bool:
        """Whether the reason of a wanted resource in that action begins so."""

    def find_physical_dependents(self, stack_id: str, ids: Collection[str]) -> list[Resource]:
        """The stack's rows with a job of which ``add_physical_dependencies`` noted that their
        reality
        may use one of the rows ``ids``, by id; light."""

    # -- the graph
    def clear_graph(self, stack_id: str) -> None:
        """Deletes the graph, and what ``add_physical_dependencies`` noted."""

    def add_edges(self, stack_id: str, version: int, edges: Iterable[Edge]) -> None: ...
    def add_physical_dependencies(self, stack_id: str, pairs: Iterable[tuple[str, str]]) -> None:
        """Notes for ``find_physical_dependents`` what is in ``holds`` of rows with a job: pairs
        of the
        holder's id and of one that it holds, none of them twice."""

    def get_edges_at(self, stack_id: str, version: int, ids: Collection[str]) -> list[Edge]:
        """Edges that touch any of ``ids`` at either end."""

    def get_unready_edges(self, stack_id: str, version: int) -> list[Edge]:
        """All edges of the graph that something waits at."""

    def delete_edges(self, stack_id: str, version: int, edges: Iterable[Edge]) -> None: ...
    def find_with_unready_requirements(self, version: int, ids: Collection[str]) -> frozenset[str]:
        """Those of ``ids`` that need something not observed ready."""

    def find_unready(self, version: int, ids: Collection[str]) -> frozenset[str]:
        """Those of ``ids`` that are not observed ready."""

    def mark_ready(self, version: int, ids: Collection[str]) -> None: ...
    def find_unblocked_by(self, version: int, ids: Collection[str]) -> list[Resource]:
        """BLOCKED resources that need one of ``ids`` and nothing that is not
        ready; only id, stack_id, name, job, must_run and draws_on are promised."""

    def find_with_touched_requirements(self, version: int, ids: Collection[str]) -> frozenset[str]:
        """Those of ``ids`` that draw on something touched in ``version``."""

    def has_unready(self, stack_id: str, version: int) -> bool: ...
    def get_retry_counts(self, version: int, ids: Collection[str]) -> Mapping[str, int]: ...
    def increment_retry_counts(self, version: int, ids: Collection[str]) -> None: ...

    def find_wrongly_blocked(self, stack_id: str, version: int) -> list[str]:
        """BLOCKED jobs that need nothing unready: none, unless something broke."""

    # -- jobs
    def next_queued(self, stack_id: str, limit: int) -> list[str]:
        """Ids of up to ``limit`` QUEUED jobs of the stack, oldest first."""

    def get_workload(self, project_id: str, stack_id: str | None = None) -> Workload:
        """What is under way in the project and, if it is given, in the stack."""

    def next_schedulable(self, project_id: str, after: str, limit: int) -> list[JobRef]:
        """Locks up to ``limit`` DUE jobs of the project that nobody holds: those of
        the trees after ``after`` first, then round again from the first tree."""

    # -- the rest
    def insert_events(self, events: Sequence[Event]) -> None: ...


class Store(Protocol):
    """Where rows live."""

    def transaction(self) -> AbstractContextManager[Transaction]:
        """Commit at the end of the block, roll back on an exception."""

    def take_lost_jobs(self, now: datetime, posted_before: datetime, limit: int) -> list[JobRef]:
        """POSTED and BEGUN jobs without a live lease, posted before the given time,
        whose resource is not being waited for (``observe_at`` None).  They are POSTED
        now, so that no second observer takes them meanwhile."""

    def take_due_observations(self, now: datetime, until: datetime, limit: int) -> list[Resource]:
        """Resources whose ``observe_at`` has come; it is pushed on to ``until``, so
        that no second observer takes them meanwhile."""

    def take_snapshots_to_delete(
        self, now: datetime, until: datetime, limit: int
    ) -> list[Snapshot]:
        """Snapshots whose ``delete_at`` has come; it is pushed on to ``until``."""

    def get_next_observation_time(self) -> datetime | None:
        """The earliest ``observe_at``."""

    def find_overdue_stacks(self, now: datetime, limit: int) -> list[str]:
        """IN_PROGRESS stacks whose deadline has passed."""

    def find_cancelled_nested_stacks(self, limit: int) -> list[str]:
        """IN_PROGRESS nested stacks that their owners have given up: the row that they
        are behind is HALTED, and BUSY as it was seen last."""

    def find_stalled_stacks(self, before: datetime, limit: int) -> list[tuple[str, int]]:
        """IN_PROGRESS stacks, with version, none of whose jobs is in flight and whose
        traversal began before the given time."""

    def find_projects_with_schedulable_jobs(self, before: datetime, limit: int) -> list[str]:
        """Projects with stacks in progress that have jobs DUE since before the
        given time: perhaps nobody passes the turn on."""

    def renew_leases(self, owner: str, tokens: Collection[str], until: datetime) -> int:
        """Puts off the owner's leases of these tokens; how many rows that were."""

    def record_heartbeat(self, service: ServiceRecord, now: datetime) -> None: ...


class Bus(Protocol):
    """Messages are hints: they may be lost, doubled, late or out of order."""

    def converge(self, stack_id: str, version: int, resource_ids: Sequence[str]) -> None: ...
    def observe(self, stack_id: str, version: int, resource_ids: Sequence[str]) -> None: ...
