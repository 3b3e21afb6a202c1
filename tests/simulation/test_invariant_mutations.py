"""A test of the simulator itself: it detects service code that is broken on purpose."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from datetime import datetime

import pytest

from heat_convergence.convergence.lifecycle import traversal
from heat_convergence.convergence.lifecycle.context import TraversalContext
from heat_convergence.convergence.model.job import IN_FLIGHT, JobState
from heat_convergence.convergence.model.resource import Resource
from heat_convergence.convergence.model.transition_rules import JobTransition
from heat_convergence.convergence.ports.store import Transaction
from heat_convergence.engine import outcomes
from heat_convergence.engine.claiming import claims, job_claims, preparation
from heat_convergence.engine.execution import Outcome
from heat_convergence.engine.jobs import Job
from heat_convergence.observer.sweep import Sweep
from heat_convergence.resources.registry import ResourceTypeRegistry
from heat_convergence.stacks import nested_observation
from heat_convergence.testing.memory.graph import MemoryGraphRepository
from heat_convergence.testing.memory.jobs import MemoryJobRepository
from heat_convergence.testing.memory.leases import MemoryLeaseRepository
from heat_convergence.testing.memory.readiness import MemoryReadinessRepository
from heat_convergence.testing.simulation.scenarios import transcript
from heat_convergence.testing.simulation.scenarios.campaign import (
    CampaignOptions,
    SeedResult,
    run_seeds,
)

SEEDS = range(1, 201)


def _first_violation(templates: str = "flat") -> SeedResult:
    """Return the first seed that violates a rule, with its history shrunk a little."""
    for verdict in run_seeds(SEEDS, CampaignOptions(shrink_runs=60, scenario_family=templates)):
        if verdict.violation is not None:
            return verdict
    pytest.fail("no seed violates a rule")


def _broken_at_replay(verdict: SeedResult) -> str:
    shown = transcript.record_scenario(verdict.scenario_text)
    return next(line for line in shown.splitlines() if line.startswith("| VIOLATED "))


def _rule(text: str) -> str:
    return text.removeprefix("| VIOLATED ").partition(":")[0]


def _ignore_lost_leases(monkeypatch: pytest.MonkeyPatch) -> None:
    """Write an outcome although another worker has the lease (a lost compare-and-swap)."""

    def everyone(
        self: MemoryLeaseRepository, ids: Collection[str], token: str
    ) -> Mapping[str, int]:
        return {row.id: row.job.version for row in self.lock_claimable(ids)}

    monkeypatch.setattr(MemoryLeaseRepository, "lock_held", everyone)
    # The store itself would refuse the outcome of a job that is not RUNNING.
    monkeypatch.setattr(MemoryJobRepository, "_check", lambda *args: None)


def _claim_leased_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    """Claim rows although another worker has their lease."""
    original = preparation.is_claimable

    def careless(row: Resource, version: int, now: datetime) -> bool:
        return original(row, version, now) or (
            row.job.version == version and row.lease.is_active(now)
        )

    monkeypatch.setattr(preparation, "is_claimable", careless)
    # The store itself would refuse the claim of a job that is not POSTED.
    monkeypatch.setattr(MemoryJobRepository, "_check", lambda *args: None)


def _claim_with_two_statements(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let no job be claimed with one statement, so that all claims lock their rows first."""
    monkeypatch.setattr(job_claims, "can_claim_at_once", lambda *args: False)


def _claim_changed_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    """Claim prepared jobs although their rows have changed since they were read."""

    def careless(
        tx: Transaction, prepared: Sequence[Job], registry: ResourceTypeRegistry, limit: int
    ) -> list[Job]:
        locked = {row.id for row in tx.leases.lock_claimable([job.row.id for job in prepared])}
        return [job for job in prepared if job.row.id in locked]

    monkeypatch.setattr(job_claims, "lock_prepared", careless)
    _claim_with_two_statements(monkeypatch)
    # The store itself would refuse the claim of a job that is not POSTED.
    monkeypatch.setattr(MemoryJobRepository, "_check", lambda *args: None)


def _remove_sweep(monkeypatch: pytest.MonkeyPatch) -> None:
    """Remove the sweep that finds jobs whose message was lost."""
    monkeypatch.setattr(Sweep, "run", lambda self, now: None)


def _record_intent_after_call(monkeypatch: pytest.MonkeyPatch) -> None:
    """Record the intent after the call, with its outcome."""
    write, record = claims.record_claims, outcomes.record_outcomes

    def lease_alone(
        tx: Transaction, jobs: Sequence[Job], claim: JobTransition, context: TraversalContext
    ) -> None:
        tx.jobs.apply([job.row.id for job in jobs], claim)

    def both(
        tx: Transaction, outcomes: Sequence[Outcome], token: str, context: TraversalContext
    ) -> outcomes.RecordedOutcomes:
        held = tx.leases.lock_held([outcome.job.row.id for outcome in outcomes], token)
        jobs = [outcome.job for outcome in outcomes if outcome.job.row.id in held]
        same_lease = JobTransition("keep lease", frozenset(JobState), {"lease_token": token})
        write(tx, jobs, same_lease, context)
        return record(tx, outcomes, token, context)

    monkeypatch.setattr(claims, "record_claims", lease_alone)
    _claim_with_two_statements(monkeypatch)
    monkeypatch.setattr(outcomes, "record_outcomes", both)


def _drop_physical_dependencies(monkeypatch: pytest.MonkeyPatch) -> None:
    """Do not record what physical resources may still use."""
    monkeypatch.setattr(
        MemoryGraphRepository, "add_physical_dependencies", lambda self, stack_id, pairs: None
    )


def _mark_too_many_ready(monkeypatch: pytest.MonkeyPatch) -> None:
    """Mark resources ready that nothing needs and whose jobs are under way."""
    original = MemoryReadinessRepository.mark_ready

    def careless(self: MemoryReadinessRepository, version: int, ids: Collection[str]) -> None:
        original(self, version, ids)
        resources = self._tables.resources
        for edge in self._tables.edges(version):
            if edge.needed_by is None and resources[edge.resource_id].job.state in IN_FLIGHT:
                self._tables.graph[edge.key] = replace(edge, observed_ready=True)

    monkeypatch.setattr(MemoryReadinessRepository, "mark_ready", careless)


def _keep_snapshots_of_changed_trees(monkeypatch: pytest.MonkeyPatch) -> None:
    """Continue a snapshot although a user changes a nested stack that is saved already."""
    monkeypatch.setattr(traversal, "fail_ancestor_snapshots", lambda *args: ())


def _accept_every_nested_end(monkeypatch: pytest.MonkeyPatch) -> None:
    """Accept every end of a nested stack, also that of a superseding request."""
    monkeypatch.setattr(nested_observation, "_superseded", lambda row, stack: "")


@pytest.mark.parametrize(
    ("mutate", "rules"),
    [
        (_ignore_lost_leases, {"rule 1", "rule 3"}),
        (_claim_leased_rows, {"rule 3"}),
        (_claim_changed_rows, {"rule 2", "rule 3", "rule 4", "rule 6"}),
        (_remove_sweep, {"rule 9"}),
        (_record_intent_after_call, {"rule 4"}),
        (_drop_physical_dependencies, {"rule 5"}),
        (_mark_too_many_ready, {"rule 1"}),
    ],
    ids=[
        "late-writer",
        "claim-under-lease",
        "claim-of-changed-rows",
        "removed-sweep",
        "intent-after-call",
        "dropped-dependencies",
        "ready-under-way",
    ],
)
def test_a_violation_is_detected_and_replayed(
    mutate: Callable[[pytest.MonkeyPatch], None],
    rules: set[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    mutate(monkeypatch)
    verdict = _first_violation()
    assert _rule(verdict.violation or "") in rules
    assert _rule(_broken_at_replay(verdict)) in rules


@pytest.mark.parametrize(
    "mutate",
    [_keep_snapshots_of_changed_trees, _accept_every_nested_end],
    ids=["continued-snapshot", "superseded-nested-stack"],
)
def test_a_violation_by_requests_about_nested_stacks_is_detected(
    mutate: Callable[[pytest.MonkeyPatch], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    mutate(monkeypatch)
    verdict = _first_violation("below")
    assert _rule(verdict.violation or "") == "rule 7"
    assert _rule(_broken_at_replay(verdict)) == "rule 7"
