"""The table of a job's transitions is complete, and rows obey it."""

from __future__ import annotations

from pathlib import Path

import pytest

from heat_convergence.convergence.model import job_transitions, transition_rules
from heat_convergence.convergence.model.job import JobState, ObservedState
from heat_convergence.convergence.model.transition_rules import (
    OWNED_COLUMNS,
    RULES,
    IllegalTransition,
    TransitionRule,
)
from heat_convergence.testing.job_state_page import render_page
from heat_convergence.testing.sample_rows import resource_row, time_at

_PAGE = Path(__file__).parents[3] / "docs" / "reference" / "job-states.rst"


def test_documented_transitions_match_the_table() -> None:
    assert _PAGE.read_text() == render_page(), (
        f"{_PAGE.name} is stale: python -m heat_convergence.testing.job_state_page"
        f" > docs/{_PAGE.name}"
    )


def test_names_of_transitions_are_unique() -> None:
    names = [rule.name for rule in RULES]
    assert len(names) == len(set(names))


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.name)
def test_a_transition_owns_only_columns_of_the_job(rule: TransitionRule) -> None:
    assert rule.columns <= OWNED_COLUMNS
    assert ("job_state" in rule.columns) != rule.keeps_state
    assert rule.sources


def test_every_column_of_the_job_is_set_by_some_transition() -> None:
    assert frozenset().union(*(rule.columns for rule in RULES)) == OWNED_COLUMNS


@pytest.mark.parametrize("state", JobState)
def test_every_state_is_reached_and_left(state: JobState) -> None:
    moving = [rule for rule in RULES if not rule.keeps_state]
    assert any(rule.target is state for rule in moving)
    assert any(state in rule.sources and rule.target is not state for rule in moving)


def test_a_claim_takes_a_posted_job_with_a_lease() -> None:
    claim = job_transitions.claim("worker", "token", time_at(10))
    row = claim.apply_to(resource_row("a", job_state=JobState.POSTED))
    assert row.job.state is JobState.RUNNING
    assert (row.lease.owner, row.lease.token) == ("worker", "token")
    assert row.lease.expires_at == time_at(10)


def test_a_claim_of_a_blocked_job_is_illegal() -> None:
    claim = job_transitions.claim("worker", "token", time_at(10))
    with pytest.raises(IllegalTransition, match="a job in state blocked cannot claim"):
        claim.apply_to(resource_row("a", job_state=JobState.BLOCKED))


def test_an_outcome_ends_the_lease() -> None:
    outcome = job_transitions.await_observation(ObservedState.READY, time_at(3))
    held = {"lease_owner": "w", "lease_token": "t", "lease_expires_at": time_at(9)}
    row = outcome.apply_to(resource_row("a", job_state=JobState.RUNNING, **held))
    assert row.job.state is JobState.AWAITING_OBSERVATION
    assert (row.observation.state, row.observation.observe_at) == (ObservedState.READY, time_at(3))
    assert (row.lease.owner, row.lease.token, row.lease.expires_at) == (None, None, None)


def test_only_the_named_columns_of_a_planned_job_are_written() -> None:
    row = resource_row("a", job_state=JobState.QUEUED, posted_at=time_at(1))
    written = job_transitions.planned(row, ["job_state", "definition"])
    assert written.values == {"job_state": JobState.QUEUED}
    assert set(job_transitions.planned(row).values) == set(transition_rules.PLANNED_COLUMNS)
