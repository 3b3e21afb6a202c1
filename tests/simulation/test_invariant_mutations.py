"""The simulator is tested itself: service code broken on purpose is found out."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from datetime import datetime

import pytest

from heat_convergence.convergence.lifecycle import traversal
from heat_convergence.convergence.lifecycle.context import TraversalContext
from heat_convergence.convergence.model.job import JobState
from heat_convergence.convergence.model.job_transitions import JobTransition
from heat_convergence.convergence.model.resource import Resource
from heat_convergence.convergence.ports.store import Transaction
from heat_convergence.engine import claims, engine, outcomes
from heat_convergence.engine.execution import Outcome
from heat_convergence.engine.jobs import Job
from heat_convergence.observer.observer import Observer
from heat_convergence.stacks import nested_observation
from heat_convergence.testing.memory.graph import MemoryGraphRepository
from heat_convergence.testing.memory.jobs import MemoryJobRepository
from heat_convergence.testing.memory.leases import MemoryLeaseRepository
from heat_convergence.testing.simulation.scenarios import transcript
from heat_convergence.testing.simulation.scenarios.campaign import (
    CampaignOptions,
    SeedResult,
    run_seeds,
)

SEEDS = range(1, 201)


def _caught(templates: str = "flat") -> SeedResult:
    """The first seed that breaks a rule; its history shrunk a little."""
    for verdict in run_seeds(SEEDS, CampaignOptions(shrink_runs=60, scenario_family=templates)):
        if verdict.violation is not None:
            return verdict
    pytest.fail("no seed found out")


def _broken_at_replay(verdict: SeedResult) -> str:
    shown = transcript.record_scenario(verdict.scenario_text)
    return next(line for line in shown.splitlines() if line.startswith("| VIOLATED "))


def _rule(text: str) -> str:
    return text.removeprefix("| VIOLATED ").partition(":")[0]


def _late_writers_write(monkeypatch: pytest.MonkeyPatch) -> None:
    """A lost compare-and-swap: the outcome is written whoever has the lease now."""

    def everyone(
        self: MemoryLeaseRepository, ids: Collection[str], token: str
    ) -> Mapping[str, int]:
        return {row.id: row.version for row in self.lock_claimable(ids)}

    monkeypatch.setattr(MemoryLeaseRepository, "lock_held", everyone)


def _claims_in_spite_of_leases(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same at the other end: a claim does not look whether somebody has it."""
    original = engine._open

    def careless(row: Resource, version: int, now: datetime) -> bool:
        return original(row, version, now) or (row.version == version and row.is_leased(now))

    monkeypatch.setattr(engine, "_open", careless)
    # The store itself would refuse the claim of a job that is not POSTED.
    monkeypatch.setattr(MemoryJobRepository, "_check", lambda *args: None)


def _no_sweep(monkeypatch: pytest.MonkeyPatch) -> None:
    """A forgotten sweep: what a lost message was to start is never looked for."""
    monkeypatch.setattr(Observer, "_sweep", lambda self, now: None)


def _intent_afterwards(monkeypatch: pytest.MonkeyPatch) -> None:
    """Intent is recorded after the call, with its outcome."""
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
    monkeypatch.setattr(outcomes, "record_outcomes", both)


def _holds_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody notes what reality may still use."""
    monkeypatch.setattr(
        MemoryGraphRepository, "add_physical_dependencies", lambda self, stack_id, pairs: None
    )


def _snapshots_go_on(monkeypatch: pytest.MonkeyPatch) -> None:
    """A snapshot goes on when a user changes a stack below that is saved already."""
    monkeypatch.setattr(traversal, "fail_ancestor_snapshots", lambda *args: ())


def _all_ends_are_right(monkeypatch: pytest.MonkeyPatch) -> None:
    """However a nested stack has ended, it has done what was asked of it."""
    monkeypatch.setattr(nested_observation, "_superseded", lambda row, stack: "")


@pytest.mark.parametrize(
    ("mutate", "rules"),
    [
        (_late_writers_write, {"rule 3"}),
        (_claims_in_spite_of_leases, {"rule 3"}),
        (_no_sweep, {"rule 9"}),
        (_intent_afterwards, {"rule 4"}),
        (_holds_forgotten, {"rule 5"}),
    ],
    ids=[
        "late-writer",
        "claim-under-lease",
        "forgotten-sweep",
        "intent-after-call",
        "forgotten-holds",
    ],
)
def test_a_broken_rule_is_found_out_and_replayed(
    mutate: Callable[[pytest.MonkeyPatch], None],
    rules: set[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    mutate(monkeypatch)
    verdict = _caught()
    assert _rule(verdict.violation or "") in rules
    assert _rule(_broken_at_replay(verdict)) in rules


@pytest.mark.parametrize(
    "mutate", [_snapshots_go_on, _all_ends_are_right], ids=["saved-below", "left-below"]
)
def test_what_users_do_to_nested_stacks_is_found_out(
    mutate: Callable[[pytest.MonkeyPatch], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    mutate(monkeypatch)
    verdict = _caught("below")
    assert _rule(verdict.violation or "") == "rule 7"
    assert _rule(_broken_at_replay(verdict)) == "rule 7"
