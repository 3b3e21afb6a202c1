"""A discrete model of the service: jobs that wait for processes, processors, locks and a log.

Predicts how fast engines and observers on several hosts work on one database, from the seconds
that a job costs each part. The times are constants, so that a prediction is the same each time.
Left out: the network, the caches of the database's disk, and waits for locks other than those of
a stack. Called by ``benchmarks.scale``; ``scaling.bottlenecks`` names what limits a prediction.
"""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass, field
from typing import Any

import simpy

from benchmarks.scaling.deployment import Deployment, ServiceTimes, Workload

Steps = Generator[Any, Any, None]


@dataclass(frozen=True, slots=True)
class Prediction:
    """The result of a simulated run.

    Attributes:
        total_s: seconds from the first request until the last stack is complete.
        per_second: resources per second.
        utilization: by part of the service, its busy time divided by what it could be busy.
    """

    total_s: float
    per_second: float
    utilization: dict[str, float]


class _Server:
    """Something that so many jobs can have at the same time, and how long they had it."""

    def __init__(self, env: simpy.Environment, capacity: int) -> None:
        self._env = env
        self.resource = simpy.Resource(env, capacity)
        self.busy_s = 0.0

    def hold(self, inner: Steps) -> Steps:
        """Wait for a place and keep it while the inner steps last."""
        with self.resource.request() as request:
            yield request
            began = self._env.now
            yield from inner
            self.busy_s += self._env.now - began


class _Log:
    """The log of the database: one write serves all commits that wait when it begins."""

    def __init__(self, env: simpy.Environment, commit_s: float) -> None:
        self._env = env
        self._commit_s = commit_s
        self._waiting: list[simpy.Event] = []
        self._is_writing = False
        self.busy_s = 0.0

    def commit(self) -> Steps:
        """Wait until the log is on disk."""
        if self._commit_s:
            done = self._env.event()
            self._waiting.append(done)
            if not self._is_writing:
                self._env.process(self._write())
            yield done

    def _write(self) -> Steps:
        self._is_writing = True
        while self._waiting:
            group, self._waiting = self._waiting, []
            yield self._env.timeout(self._commit_s)
            self.busy_s += self._commit_s
            for done in group:
                done.succeed()
        self._is_writing = False


@dataclass(slots=True)
class _Hosts:
    """The processors of the hosts, by part of the service."""

    workers: list[_Server]
    database: _Server
    broker: _Server
    clients: _Server | None


@dataclass(slots=True)
class _Processes:
    """The processes of one daemon; each runs one thing at a time, on a host of its own."""

    env: simpy.Environment
    hosts: list[_Server]
    count: int
    servers: list[_Server] = field(init=False)
    _next: int = 0

    def __post_init__(self) -> None:
        self.servers = [_Server(self.env, 1) for _ in range(self.count)]

    def pick(self) -> int:
        """Return the process with the fewest jobs, in turns among equals, as a broker does."""
        order = [(self._next + step) % self.count for step in range(self.count)]
        self._next = (self._next + 1) % self.count

        def load(number: int) -> int:
            resource = self.servers[number].resource
            return resource.count + len(resource.queue)

        return min(order, key=load)

    def run(self, process: int, duration_s: float) -> Steps:
        """Use the process and a processor of its host, for which it is not busy while it waits."""
        host, server = self.hosts[process % len(self.hosts)], self.servers[process]
        with server.resource.request() as request:
            yield request
            yield from host.hold(_sleep(self.env, duration_s))
            server.busy_s += duration_s


def _sleep(env: simpy.Environment, duration_s: float) -> Steps:
    if duration_s > 0:
        yield env.timeout(duration_s)


class ScaleModel:
    """One simulated run of a workload on a deployment."""

    def __init__(self, times: ServiceTimes, workload: Workload, deployment: Deployment) -> None:
        self._times, self._work, self._deployment = times, workload, deployment
        self._env = env = simpy.Environment()
        self._hosts = _place(env, deployment)
        workers = self._hosts.workers
        self._apis = _Processes(env, workers, deployment.apis)
        self._engines = _Processes(env, workers, deployment.engines)
        self._observers = _Processes(env, workers, deployment.observers)
        self._log = _Log(env, times.commit_s)
        self._clients = _Server(env, workload.clients)
        self._stack_locks = [_Server(env, 1) for _ in range(workload.stacks)]
        self._on_bus = [_Server(env, workload.jobs_on_bus) for _ in range(workload.projects)]

    def run(self) -> Prediction:
        """Run until all stacks are complete."""
        stacks = [self._env.process(self._stack(number)) for number in range(self._work.stacks)]
        self._env.run(self._env.all_of(stacks))
        total_s = self._env.now
        resources = self._work.jobs * self._work.resources_per_job
        return Prediction(total_s, resources / total_s, self._utilization(total_s))

    def _stack(self, number: int) -> Steps:
        yield from self._clients.hold(self._request())
        for _ in range(self._work.length):
            jobs = [self._env.process(self._job(number)) for _ in range(self._work.width)]
            yield self._env.all_of(jobs)

    def _request(self) -> Steps:
        """Create a stack, which costs the API its part of all jobs of the stack."""
        times, jobs = self._times, self._work.jobs // self._work.stacks
        if self._hosts.clients is not None:
            yield from self._hosts.clients.hold(_sleep(self._env, times.client_s * jobs))
        api = self._apis.pick()
        yield from self._apis.run(api, times.api_s * jobs)
        yield from self._query(times.database_s * times.api_database_share * jobs)
        yield from self._log.commit()

    def _job(self, stack: int) -> Steps:
        times = self._times
        place = self._on_bus[stack % len(self._on_bus)]
        engine_database_s = times.database_s * (
            1 - times.observer_database_share - times.api_database_share
        )
        claim, record = times.claim_share, 1 - times.claim_share
        engine: list[int] = []
        yield from place.hold(self._claim(engine, claim, engine_database_s))
        yield from self._transaction(
            self._engines, engine[0], times.engine_s * record, engine_database_s * record
        )
        yield from self._hosts.broker.hold(_sleep(self._env, times.broker_s / 2))
        yield from self._stack_locks[stack].hold(self._observe())

    def _claim(self, engine: list[int], share: float, database_s: float) -> Steps:
        yield from self._hosts.broker.hold(_sleep(self._env, self._times.broker_s / 2))
        engine.append(self._engines.pick())
        yield from self._transaction(
            self._engines, engine[0], self._times.engine_s * share, database_s * share
        )

    def _observe(self) -> Steps:
        times = self._times
        database_s = times.database_s * times.observer_database_share
        yield from self._transaction(
            self._observers, self._observers.pick(), times.observer_s, database_s
        )

    def _transaction(
        self, processes: _Processes, process: int, processor_s: float, database_s: float
    ) -> Steps:
        yield from processes.run(process, processor_s)
        yield from self._query(database_s)
        yield from self._log.commit()

    def _query(self, database_s: float) -> Steps:
        yield from self._hosts.database.hold(_sleep(self._env, database_s))

    def _utilization(self, total_s: float) -> dict[str, float]:
        groups = {
            "API processes": self._apis.servers,
            "engine processes": self._engines.servers,
            "observer processes": self._observers.servers,
            "processors of the hosts": self._hosts.workers,
            "locks of stacks": self._stack_locks,
            "places on the bus": self._on_bus,
        }
        if self._deployment.database_processors:
            groups["processors of the database"] = [self._hosts.database]
            groups["processors of the broker"] = [self._hosts.broker]
        found = {
            part: sum(server.busy_s for server in servers)
            / sum(server.resource.capacity for server in servers)
            / total_s
            for part, servers in groups.items()
        }
        found["log of the database"] = self._log.busy_s / total_s
        return found


def _place(env: simpy.Environment, deployment: Deployment) -> _Hosts:
    workers = [_Server(env, deployment.processors) for _ in range(deployment.hosts)]
    if not deployment.database_processors:
        return _Hosts(workers, workers[0], workers[0], workers[0])
    database = _Server(env, deployment.database_processors)
    return _Hosts(workers, database, _Server(env, deployment.broker_processors), None)
