"""Evaluations outside of transactions: found, repeated when something changed, bounded."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from heat_convergence.common.errors import StackValidationFailed
from heat_convergence.common.evaluation.deferred_evaluation import evaluate_outside
from heat_convergence.common.evaluation.evaluation_guard import are_locks_held, holding_locks
from heat_convergence.common.failures import ConcurrentTransaction, Unavailable
from heat_convergence.common.transactions import retry_transaction

INPUTS = {"value": 1}


def run(work: Callable[[], Any]) -> Any:
    """Run work as a transaction that holds locks, with a few repetitions."""

    def attempt() -> Any:
        with holding_locks():
            return work()

    return retry_transaction(attempt, wait=lambda _s: None, tries=3)


def test_an_evaluation_is_done_once_without_locks():
    locks_held = []

    def evaluate() -> str:
        locks_held.append(are_locks_held())
        return "result"

    assert run(lambda: evaluate_outside("key", INPUTS, evaluate)) == "result"
    assert locks_held == [False]


def test_several_evaluations_of_one_transaction_are_all_done():
    def work() -> list[str]:
        return [evaluate_outside(key, INPUTS, key.upper) for key in ("a", "b")]

    assert run(work) == ["A", "B"]


def test_an_evaluation_is_repeated_when_its_inputs_have_changed():
    read, evaluated = iter([1, 2, 3, 3]), []

    def work() -> int:
        inputs = next(read)

        def evaluate() -> int:
            evaluated.append(inputs)
            return inputs * 10

        return evaluate_outside("key", inputs, evaluate)

    assert run(work) == 30
    assert evaluated == [1, 2, 3]


def test_inputs_that_change_each_time_end_in_a_conflict():
    read = iter(range(1000))

    def work() -> int:
        return evaluate_outside("key", next(read), lambda: 0)

    with pytest.raises(ConcurrentTransaction, match="changed each time"):
        run(work)
    assert next(read) <= 31


def test_a_mistake_in_a_template_is_raised_inside_the_transaction():
    raised = []

    def fail() -> None:
        raised.append(are_locks_held())
        raise StackValidationFailed("wrong")

    def work() -> str:
        try:
            return str(evaluate_outside("key", INPUTS, fail))
        except StackValidationFailed as error:
            return f"{error.message} {are_locks_held()}"

    assert run(work) == "wrong True"
    assert raised == [False]


def test_an_outage_during_an_evaluation_is_retried():
    outages = [Unavailable("down"), ConcurrentTransaction("deadlock")]

    def evaluate() -> str:
        if outages:
            raise outages.pop()
        return "result"

    assert run(lambda: evaluate_outside("key", INPUTS, evaluate)) == "result"


def test_results_are_not_kept_for_another_transaction():
    evaluated = []

    def work() -> None:
        evaluate_outside("key", INPUTS, lambda: evaluated.append(1))

    run(work)
    run(work)
    assert len(evaluated) == 2


def test_without_a_transaction_a_value_is_evaluated_at_once():
    assert evaluate_outside("key", INPUTS, lambda: "result") == "result"
