"""100 more seeds, on SQLite: the same histories through the SQL of the service."""

from __future__ import annotations

import pytest

from tests.simulation.seed_batches import assert_no_violation, batch_starts


@pytest.mark.parametrize("first", batch_starts(401, 100))
def test_no_rule_is_violated(first: int) -> None:
    assert_no_violation(first, "sqlite")
