"""The check that nothing is evaluated while locks of the database are held."""

from __future__ import annotations

from pathlib import Path

import pytest

from heat_convergence.common.evaluation import evaluation_guard
from heat_convergence.common.evaluation.evaluation_guard import EvaluationUnderLocks
from heat_convergence.convergence.ports.store import Store
from heat_convergence.db.connection.database import database_from_url
from heat_convergence.db.store import SqlStore
from heat_convergence.template.bounded_regex import full_match
from heat_convergence.template.evaluation.evaluation import resolve_value
from heat_convergence.template.expression import Expression
from heat_convergence.testing.memory.store import MemoryStore

EXPRESSION = Expression("list_join", "multi_list_json_items", ["-", ["a", "b"]])


@pytest.fixture(params=["memory", "sqlite"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Store:
    if request.param == "memory":
        return MemoryStore()
    return SqlStore(database_from_url(f"sqlite:///{tmp_path}/guard.sqlite"))


def test_evaluation_in_a_transaction_raises_and_is_noted(store: Store):
    with store.transaction(), pytest.raises(EvaluationUnderLocks, match="evaluation inside"):
        resolve_value(EXPRESSION, None)
    assert evaluation_guard.violations.pop() == "evaluation"


def test_a_regular_expression_in_a_transaction_raises(store: Store):
    with store.transaction(), pytest.raises(EvaluationUnderLocks):
        full_match("a+", "aaa")
    assert evaluation_guard.violations.pop() == "evaluation"


def test_evaluation_after_a_transaction_and_beside_a_read_is_allowed(store: Store):
    with store.transaction():
        assert evaluation_guard.are_locks_held()
    with store.read():
        assert resolve_value(EXPRESSION, None) == "a-b"
    assert resolve_value(EXPRESSION, None) == "a-b"


def test_known_values_are_no_evaluation(store: Store):
    with store.transaction():
        assert resolve_value({"a": ["b"]}, None) == {"a": ["b"]}
