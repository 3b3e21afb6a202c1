"""The simulator's rule about mass losses counts what reads can show, and nothing else."""

from __future__ import annotations

from datetime import timedelta

import pytest

from heat_convergence.convergence.drift.settings import MassLossLimits
from heat_convergence.convergence.invariants.transition import StackState, Transition
from heat_convergence.convergence.model.action import Status
from heat_convergence.testing.sample_rows import resource_row, stack_row, time_at
from heat_convergence.testing.simulation.cloud import SimulatedCloud
from heat_convergence.testing.simulation.cloud_reads.cloud_view import CloudView
from heat_convergence.testing.simulation.drift.loss_rule import MassLossRule

DELAY_S = 120
LOST_AT, KNOWN_AT = 200, 200 + DELAY_S + 1


@pytest.fixture
def view() -> CloudView:
    found = CloudView(SimulatedCloud(lambda: 0.0))
    found.hide(("a1", "a2", "b1", "b2"))
    found.unreachable_since = time_at(LOST_AT)
    return found


@pytest.fixture
def rule(view: CloudView) -> MassLossRule:
    return MassLossRule(view, MassLossLimits(4, 0.5), timedelta(seconds=DELAY_S))


def commit(rule: MassLossRule, name: str, status: Status, at_s: int, suffix: str = "") -> None:
    rows = tuple(
        resource_row(f"{name}{number}", stack_id=name, physical_id=f"{name}{number}{suffix}")
        for number in range(1, 4)
    )
    state = StackState(stack_row(name, status=status), rows, ())
    assert list(rule.note_commit(Transition(time_at(at_s), state))) == []


def test_loss_in_complete_stacks_is_known_after_the_delay(rule: MassLossRule) -> None:
    for name in "ab":
        commit(rule, name, Status.COMPLETE, 10)
    assert not rule.is_known(time_at(LOST_AT + DELAY_S))
    assert rule.is_known(time_at(KNOWN_AT))


@pytest.mark.parametrize("status", [Status.FAILED, Status.IN_PROGRESS])
def test_loss_in_a_stack_that_is_not_read_is_unknown(rule: MassLossRule, status: Status) -> None:
    commit(rule, "a", Status.COMPLETE, 10)
    commit(rule, "b", status, 10)
    assert not rule.is_known(time_at(KNOWN_AT))


def test_stack_is_known_when_it_was_complete_for_the_delay(rule: MassLossRule) -> None:
    commit(rule, "a", Status.COMPLETE, 10)
    commit(rule, "b", Status.COMPLETE, KNOWN_AT)
    assert not rule.is_known(time_at(KNOWN_AT + DELAY_S - 1))
    assert rule.is_known(time_at(KNOWN_AT + DELAY_S))


def test_repair_is_judged_by_the_state_at_its_start(rule: MassLossRule) -> None:
    for name in "ab":
        commit(rule, name, Status.COMPLETE, 10)
    commit(rule, "a", Status.IN_PROGRESS, KNOWN_AT)
    assert rule.is_known(time_at(KNOWN_AT))
    assert not rule.is_known(time_at(KNOWN_AT + 1))


def test_loss_that_reads_have_shown_stays_known(rule: MassLossRule, view: CloudView) -> None:
    commit(rule, "a", Status.COMPLETE, 10)
    commit(rule, "b", Status.IN_PROGRESS, 10)
    for object_id in ("b1", "b2"):
        view.note_missing(object_id, time_at(LOST_AT + 1))
    assert rule.is_known(time_at(KNOWN_AT))


@pytest.mark.parametrize("replaced_first", [True, False])
def test_resources_count_with_those_that_are_missing_at_the_same_time(
    rule: MassLossRule, view: CloudView, replaced_first: bool
) -> None:
    for name in "ab":
        commit(rule, name, Status.IN_PROGRESS, 10)
    for object_id in ("a1", "a2"):
        view.note_missing(object_id, time_at(LOST_AT + 1))
    commit(rule, "a", Status.IN_PROGRESS, LOST_AT + (3 if replaced_first else 7), "-new")
    for object_id in ("b1", "b2"):
        view.note_missing(object_id, time_at(LOST_AT + 5))
    assert rule.is_known(time_at(KNOWN_AT)) is not replaced_first


def test_loss_that_is_over_is_not_known(rule: MassLossRule, view: CloudView) -> None:
    for name in "ab":
        commit(rule, name, Status.COMPLETE, 10)
    view.hide(())
    view.unreachable_since = None
    assert not rule.is_known(time_at(KNOWN_AT))
