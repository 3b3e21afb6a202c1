"""Inputs of the model of scale: measured times, work to do, and processes on hosts.

Pure data, used by ``scaling.model`` and built by ``benchmarks.scale`` from a measurement or for
an installation that nobody has.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ServiceTimes:
    """Seconds that one job costs each part of the service.

    A job is one message to an engine with all that follows from it: the outcomes that the
    engine records, the message to the observer and the observer's transaction.

    Attributes:
        client_s: processor time of the client that sends and polls.
        api_s: processor time of the API.
        engine_s: processor time of the engine.
        observer_s: processor time of the observer.
        database_s: processor time of the database for all statements of the job.
        broker_s: processor time of the broker for both messages.
        commit_s: time until the log of the database is on disk, once for all who wait for it.
        claim_share: part of an engine's work that is done when the job is claimed, which is
            when the project may have its next job on the bus.
        observer_database_share: part of the statements that are an observer's.
        api_database_share: part of the statements that are the API's.
    """

    client_s: float = 0.0
    api_s: float = 0.0
    engine_s: float = 0.0
    observer_s: float = 0.0
    database_s: float = 0.0
    broker_s: float = 0.0
    commit_s: float = 0.0
    claim_share: float = 0.55
    observer_database_share: float = 0.4
    api_database_share: float = 0.1


@dataclass(frozen=True, slots=True)
class Workload:
    """Stacks that are created at the same time.

    Attributes:
        stacks: number of stacks.
        length: jobs of one stack that must follow one another.
        width: jobs of one stack that need nothing of each other, at each place of ``length``.
        resources_per_job: how many resources one message is about.
        projects: number of projects that the stacks are spread over.
        jobs_on_bus: messages of one project that may wait for an engine at the same time.
        clients: clients that send requests at the same time.
    """

    stacks: int
    length: int = 1
    width: int = 1
    resources_per_job: float = 1.0
    projects: int = 1
    jobs_on_bus: int = 1
    clients: int = 8

    @property
    def jobs(self) -> int:
        """The number of all jobs."""
        return self.stacks * self.length * self.width


@dataclass(frozen=True, slots=True)
class Deployment:
    """Processes and the hosts that they run on.

    Attributes:
        hosts: number of hosts with API, engine and observer processes.
        processors: processors of each of these hosts.
        apis: API processes of all hosts.
        engines: engine processes of all hosts.
        observers: observer processes of all hosts.
        database_processors: processors of the host of the database; 0 if it has none of its
            own, but shares the first host with the broker and the clients.
        broker_processors: processors of the broker's host, unless it shares the first.
    """

    hosts: int = 1
    processors: int = 2
    apis: int = 1
    engines: int = 1
    observers: int = 1
    database_processors: int = 0
    broker_processors: int = 2


def clustered(hosts: int, processors: int, database_processors: int) -> Deployment:
    """Return hosts with as many processes of each daemon as processors, and a database host."""
    workers = hosts * processors
    return Deployment(
        hosts=hosts,
        processors=processors,
        apis=workers,
        engines=workers,
        observers=workers,
        database_processors=database_processors,
        broker_processors=4,
    )
