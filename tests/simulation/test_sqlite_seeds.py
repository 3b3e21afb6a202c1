"""100 more seeds, on SQLite: the same histories through the SQL of the service."""

from __future__ import annotations

import pytest

from tests.simulation.seeds import batches, no_rule_is_broken


@pytest.mark.parametrize("first", batches(401, 100))
def test_no_rule_is_broken(first: int) -> None:
    no_rule_is_broken(first, "sqlite")
