"""Number of tries of a transaction, and the pauses between them."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from heat_convergence.common.errors import Error
from heat_convergence.common.failures import ConcurrentTransaction, Unavailable
from heat_convergence.common.transactions import MAX_CONFLICTS, retry_transaction


def failing(*errors: type[Error]) -> Callable[[], str]:
    """Return work that raises these errors one after the other, and then succeeds."""
    left = list(errors)

    def work() -> str:
        if left:
            raise left.pop(0)("failed")
        return "done"

    return work


def pauses_of(*errors: type[Error], tries: int = 10) -> list[float]:
    pauses: list[float] = []
    assert retry_transaction(failing(*errors), wait=pauses.append, tries=tries) == "done"
    return pauses


def test_first_conflicts_are_repeated_at_once() -> None:
    assert pauses_of(ConcurrentTransaction, ConcurrentTransaction) == []


def test_pauses_after_further_conflicts_grow_up_to_half_a_second() -> None:
    pauses = pauses_of(*[ConcurrentTransaction] * 9)
    assert pauses == [0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.5]


def test_pauses_of_an_outage_grow_up_to_five_seconds() -> None:
    assert pauses_of(*[Unavailable] * 7) == [0.2, 0.4, 0.8, 1.6, 3.2, 5.0, 5.0]


def test_conflicts_do_not_lengthen_the_pause_of_an_outage() -> None:
    assert pauses_of(ConcurrentTransaction, Unavailable, ConcurrentTransaction) == [0.2]


def test_outage_that_lasts_is_raised_without_a_further_pause() -> None:
    pauses: list[float] = []
    with pytest.raises(Unavailable):
        retry_transaction(failing(*[Unavailable] * 3), wait=pauses.append, tries=3)
    assert len(pauses) == 2


def test_conflicts_are_repeated_more_often_than_outages() -> None:
    """A caller that gives up soon when the database is away still gets its turn."""
    conflicts = [ConcurrentTransaction] * (MAX_CONFLICTS - 1)
    assert len(pauses_of(*conflicts, tries=3)) == MAX_CONFLICTS - 3
    with pytest.raises(ConcurrentTransaction):
        pauses_of(*conflicts, ConcurrentTransaction, tries=3)
