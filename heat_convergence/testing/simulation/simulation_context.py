"""Settings, clock, faults, cloud, store and log, which all processes of a simulation share.

Used by the simulated processes and their fault points; the environment adds the processes. Must
know neither, so that each module can be read after those it uses.
"""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import dataclass, field

from heat_convergence.common import errors
from heat_convergence.common.failures import ResourceGone
from heat_convergence.common.ids import IdGenerator
from heat_convergence.convergence.drift.announcements import Announcement
from heat_convergence.convergence.model.action import Action
from heat_convergence.convergence.ports.settings import ConvergenceSettings
from heat_convergence.convergence.ports.store import Store
from heat_convergence.resources.protocol.verb_values import ResourceContext
from heat_convergence.testing.simulation.cloud import SimulatedCloud
from heat_convergence.testing.simulation.cloud_reads.cloud_view import CloudView
from heat_convergence.testing.simulation.cloud_reads.read_ages import ReadAges
from heat_convergence.testing.simulation.event_queue import EventQueue
from heat_convergence.testing.simulation.fault_injector import FaultInjector
from heat_convergence.testing.simulation.invariant_checker import InvariantChecker, TaskClaims
from heat_convergence.testing.simulation.messaging.bus import MessageRouter
from heat_convergence.testing.simulation.readiness.level_rule import LevelRule
from heat_convergence.testing.simulation.readiness.window_rule import WindowRule
from heat_convergence.testing.simulation.service_outages import ServiceOutages
from heat_convergence.testing.simulation.tasks import GreenletTask
from heat_convergence.testing.simulation.workload.simulated_users import SimulatedUsers

UNLIMITED_TAKEOVERS = 1_000_000
"""For workers that crash all the time, which is not the fault of their jobs."""


@dataclass(frozen=True, slots=True)
class EnvironmentConfig:
    """The size of the environment.

    Attributes:
        seed: the source of all random choices; 0 for none, when everything takes the
            shortest time.
        group_size: how many calls an engine records at once.
        max_work_s: the longest time the cloud takes for a call.
        message_wait_s: the longest time that messages wait for a busy observer, which handles
            those together that have arrived meanwhile; for a busy engine it is a fifth.
        concurrent_polls: 1 if observations do not delay the pass that has started them.
        exception_points: whether every call of a port or a type is a point of a fault.
        watch: whether observers read complete stacks and repair their drift.
    """

    seed: int = 0
    engines: int = 2
    observers: int = 2
    group_size: int = 1
    max_work_s: float = 5.0
    message_wait_s: float = 0.0
    concurrent_polls: int = 0
    exception_points: bool = False
    watch: bool = False
    settings: ConvergenceSettings = field(
        default_factory=lambda: ConvergenceSettings(
            action_timeout_s=600.0, max_job_takeovers=UNLIMITED_TAKEOVERS
        )
    )


@dataclass(slots=True)
class RunningTask(TaskClaims):
    """A task of a process, with the leases it holds."""

    task: GreenletTask | None = None
    pending_fault: str | None = None  # occurs after the effect of the current call


class SimulationContext:
    """The shared part of one simulation.

    Attributes:
        running_tasks: the tasks that run now; the last one has control.
        announcements: the notifications of drift and repairs that were sent.
        read_ages: how old what the watch has read is.
    """

    def __init__(self, config: EnvironmentConfig, faults: FaultInjector, store: Store) -> None:
        self.config = config
        self.settings = config.settings
        self.group_size = config.group_size
        self.faults = faults
        self.event_queue = EventQueue()
        self.ids = IdGenerator(self.event_queue.now, random.Random(config.seed))
        self.cloud = SimulatedCloud(lambda: self.event_queue.elapsed_s)
        self.cloud_view = CloudView(self.cloud)
        self.outages = ServiceOutages()
        self.read_ages = ReadAges()
        self.store = store
        self.users = SimulatedUsers()
        self.occurrences: Counter[str] = Counter()
        self.expected_failures: dict[str, list[str]] = {}
        self.invariant_checker = InvariantChecker(
            store,
            self.cloud,
            self.event_queue.now,
            self.occurrences,
            self.users,
            self.expect_failure,
        )
        self.invariant_checker.handover_rule.on_move.append(self.copy_expected_failures)
        self.invariant_checker.call_checks.append(
            LevelRule(self.invariant_checker.template_of, self.occurrences).check_call
        )
        window_rule = WindowRule(
            self.invariant_checker.template_of,
            self.cloud,
            lambda: self.event_queue.elapsed_s,
            self.occurrences,
        )
        self.invariant_checker.commit_checks.append(window_rule.check_commit)
        self.log: list[str] = []
        self.announcements: list[Announcement] = []
        self.work_durations: dict[tuple[str, str], float] = {}
        self.router = MessageRouter(self.event_queue, faults, self.occurrences, self.log_event)
        self.running_tasks: list[RunningTask] = []
        self._errors: Counter[str] = Counter()

    @property
    def current_task(self) -> RunningTask:
        """The task that runs now."""
        return self.running_tasks[-1]

    def work_duration_s(self, action: Action, name: str) -> float:
        """Return how long the cloud takes for an action on a resource."""
        fixed = self.work_durations.get((action.lower(), name))
        if fixed is not None:
            return fixed
        return self.faults.random_between(f"cloud/{action}/{name}", 0.0, self.config.max_work_s)

    def log_event(self, text: str) -> None:
        """Append a line with the simulated time to the log."""
        self.log.append(f"{self.event_queue.elapsed_s:9.3f} {text}")

    # -- expected failures

    def expect_failure(self, stack_id: str, reason: str) -> None:
        """Note a reason for which the stack may fail."""
        self.expected_failures.setdefault(stack_id, []).append(reason)

    def copy_expected_failures(self, source_id: str, target_id: str) -> None:
        """Expect of one stack what is expected of another."""
        for reason in self.expected_failures.get(source_id, ()):
            self.expect_failure(target_id, reason)

    def record_failed_call(self, view: ResourceContext, error: errors.Error) -> None:
        """Note a call that failed permanently, or as often as retries are allowed."""
        if isinstance(error, ResourceGone) and view.physical_id in self.cloud.objects:
            return  # an external deletion is noted elsewhere; any other must not explain a failure
        self._errors[view.resource_id] += 1
        final = error.retry is errors.Retry.NEVER
        if final or self._errors[view.resource_id] >= self.settings.retry_limit:
            self.expect_failure(view.stack_id, f"{view.name}: {type(error).__name__}")
