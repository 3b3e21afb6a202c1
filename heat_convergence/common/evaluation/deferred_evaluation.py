"""Evaluations that a transaction needs, done outside of it.

Code inside a transaction calls ``evaluate_outside``.  The first time it raises
``EvaluationRequired``: the transaction is rolled back, ``transactions.retry_transaction``
does the evaluation without a lock, and runs the transaction again, which now finds the
result.  If what the evaluation reads has changed meanwhile, it is repeated.  Must not know
what is evaluated.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from contextlib import AbstractContextManager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any

from heat_convergence.common.errors import Error, Retry


@dataclass(frozen=True, slots=True)
class DeferredEvaluation:
    """An evaluation to be done outside of the transaction.

    Attributes:
        inputs: Everything that was read for it; compared with ``==``.
        compute: Function that evaluates the inputs.  It may open transactions of its own, and
            adds to the inputs what it reads by them, so that it is compared, too.
    """

    inputs: Any
    compute: Callable[[], Any]


@dataclass(frozen=True, slots=True)
class _Result:
    inputs: Any
    value: Any = None
    error: Error | None = None


class EvaluationRequired(Exception):
    """A transaction needs evaluations; it is to be rolled back and run again after them."""

    def __init__(self, evaluations: Mapping[Hashable, DeferredEvaluation]) -> None:
        super().__init__(f"evaluations are needed: {list(evaluations)}")
        self.evaluations = evaluations


class EvaluationResults:
    """The results for one transaction and its repetitions."""

    def __init__(self) -> None:
        self._results: dict[Hashable, _Result] = {}

    def evaluate(self, required: EvaluationRequired) -> None:
        """Do the evaluations; a mistake in a template is a result, too.

        Raises:
            Error: An evaluation failed for a reason that may pass.
        """
        for key, evaluation in required.evaluations.items():
            try:
                self._results[key] = _Result(evaluation.inputs, evaluation.compute())
            except Error as error:
                if error.retry is not Retry.NEVER:
                    raise
                self._results[key] = _Result(evaluation.inputs, error=error)

    def find_inputs(self, key: Hashable) -> Any:
        """Return the inputs of the last evaluation of that name, None if there was none."""
        result = self._results.get(key)
        return None if result is None else result.inputs

    def find(self, key: Hashable, inputs: Any) -> _Result | None:
        """Return the result of an evaluation with equal inputs."""
        result = self._results.get(key)
        return result if result is not None and result.inputs == inputs else None


_RESULTS: ContextVar[EvaluationResults | None] = ContextVar("evaluation_results", default=None)


class _DeferringEvaluations(AbstractContextManager[EvaluationResults]):
    """A block with results of its own; a class, since a generator costs several times as much."""

    __slots__ = ("_token",)

    def __enter__(self) -> EvaluationResults:
        results = EvaluationResults()
        self._token = _RESULTS.set(results)
        return results

    def __exit__(self, *_error: object) -> None:
        _RESULTS.reset(self._token)


def deferring_evaluations() -> AbstractContextManager[EvaluationResults]:
    """Have ``evaluate_outside`` find or require results in the block."""
    return _DeferringEvaluations()


def evaluate_all_outside(
    evaluations: Mapping[Hashable, DeferredEvaluation],
) -> dict[Hashable, Callable[[], Any]]:
    """Return, by key, functions that return or raise what the evaluations came to.

    Without ``deferring_evaluations`` around, everything is evaluated when it is asked for.

    Raises:
        EvaluationRequired: Not all results are known.
    """
    results = _RESULTS.get()
    if results is None:
        return {key: each.compute for key, each in evaluations.items()}
    found = {key: results.find(key, each.inputs) for key, each in evaluations.items()}
    missing = {key: evaluations[key] for key, result in found.items() if result is None}
    if missing:
        raise EvaluationRequired(missing)
    return {key: _return_or_raise(result) for key, result in found.items() if result is not None}


def find_previous_inputs(key: Hashable) -> Any:
    """Return what the last evaluation of that name was done with; None if there was none."""
    results = _RESULTS.get()
    return None if results is None else results.find_inputs(key)


def evaluate_outside(key: Hashable, inputs: Any, compute: Callable[[], Any]) -> Any:
    """Return what ``compute`` returned, or raise what it raised, outside of the transaction.

    Args:
        key: Name of the evaluation, unique within the transaction.
        inputs: Everything that was read for it; compared with ``==``.
        compute: Function that evaluates the inputs.

    Raises:
        EvaluationRequired: The result is not known.
    """
    return evaluate_all_outside({key: DeferredEvaluation(inputs, compute)})[key]()


def _return_or_raise(result: _Result) -> Callable[[], Any]:
    def get() -> Any:
        if result.error is not None:
            raise result.error
        return result.value

    return get
