"""Service times of the model from one measured run, and the work that the run was."""

from __future__ import annotations

from dataclasses import replace

from benchmarks.reports.results import PhaseResult
from benchmarks.scaling.deployment import ServiceTimes, Workload
from heat_convergence.convergence.ports.settings import ConvergenceSettings

JOBS_ON_BUS = ConvergenceSettings().jobs_on_bus  # of one project


def service_times(row: PhaseResult, commit_s: float) -> ServiceTimes:
    """Return the seconds of each part for one job of a measured phase.

    Args:
        row: the phase; its processor seconds are those of all processes of a component.
        commit_s: the seconds that a commit waits for the log of the database.
    """
    used = {part: _sum(row.processor_s, part) / row.jobs for part in _PARTS}
    statements = {part: _sum(row.statements_by_component, part) for part in _PARTS}
    total = sum(statements.values()) or 1
    return ServiceTimes(
        client_s=used["driver"],
        api_s=used["api"],
        engine_s=used["engine"],
        observer_s=used["observer"],
        database_s=used["database"],
        broker_s=used["broker"],
        commit_s=commit_s,
        observer_database_share=statements["observer"] / total,
        api_database_share=statements["api"] / total,
    )


_PARTS = ("driver", "api", "engine", "observer", "database", "broker")


def _sum(values: dict[str, float] | dict[str, int], part: str) -> float:
    """Return the sum over the daemons of a component, which are named ``engine-1`` and so on."""
    found = sum(value for name, value in values.items() if name.partition("-")[0] == part)
    return max(found, 0)  # A process of the broker's commands that has ended is missing later.


def measured_workload(row: PhaseResult, *, stacks: int, longest_path: int) -> Workload:
    """Return the work of a phase, whose stacks all belong to one project."""
    width = max(1, round(row.jobs / stacks / longest_path))
    jobs = stacks * longest_path * width
    per_job = row.resources / jobs
    return Workload(
        stacks=stacks,
        length=longest_path,
        width=width,
        resources_per_job=per_job,
        projects=1,
        jobs_on_bus=max(1, int(JOBS_ON_BUS // per_job)),
    )


def crowd(work: Workload, jobs: int, projects: int) -> Workload:
    """Return so many more stacks of the same form that there is work for a larger installation."""
    per_stack = work.jobs // work.stacks
    stacks = max(projects, -(-jobs // per_stack))
    return replace(work, stacks=stacks, projects=projects, clients=stacks)
