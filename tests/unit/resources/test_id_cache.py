"""The ids that a process remembers are bounded, whatever names users look up."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from heat_convergence.resources.driver import id_lookup
from heat_convergence.resources.driver.id_lookup import IdCache

NOW = datetime(2026, 1, 1, tzinfo=UTC)


@pytest.fixture(autouse=True)
def few_entries(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(id_lookup, "MAX_CACHED", 10)


def test_ids_are_bounded() -> None:
    cache = IdCache()
    for number in range(50):
        cache.put("p1 north", "nova.server", f"name {number}", "id", NOW)
    assert len(cache._ids) == 10
    assert cache.get("p1 north", "nova.server", "name 49", NOW) == "id"


def test_counts_of_misses_are_bounded() -> None:
    cache = IdCache()
    for number in range(50):
        cache.count_miss(f"p1 region {number}", "nova.server")
        assert cache.count_miss("p1 north", "nova.server") == number + 1
    assert len(cache._misses) == 10
    cache.reset_misses("p1 north", "nova.server")
    assert len(cache._misses) == 9
    assert cache.count_miss("p1 north", "nova.server") == 1
