"""Leases that an engine may rely on."""

from __future__ import annotations

from heat_convergence.engine.leases import LeaseTracker
from heat_convergence.testing.sample_rows import time_at


def test_lease_is_valid_until_it_expires():
    leases = LeaseTracker()
    with leases.track("t"):
        assert not leases.is_valid("t", time_at(0))
        leases.claim("t", time_at(10))
        assert leases.is_valid("t", time_at(9))
        assert not leases.is_valid("t", time_at(10))


def test_lease_extended_before_expiry_stays_valid():
    leases = LeaseTracker()
    with leases.track("t"):
        leases.claim("t", time_at(10))
        leases.extend(["t"], time_at(18), time_at(9))
        assert leases.is_valid("t", time_at(17))


def test_lease_extended_after_expiry_is_not_valid():
    leases = LeaseTracker()
    with leases.track("t"):
        leases.claim("t", time_at(10))
        leases.extend(["t"], time_at(18), time_at(11))
        assert leases.valid_tokens(time_at(11)) == frozenset()


def test_released_lease_cannot_be_extended():
    leases = LeaseTracker()
    with leases.track("done"):
        leases.claim("done", time_at(10))
    leases.extend(["done"], time_at(18), time_at(1))
    assert leases.valid_tokens(time_at(1)) == frozenset()
