"""Which leases an engine may rely on."""

from __future__ import annotations

from heat_convergence.engine.leases import LeaseTracker
from heat_convergence.testing.sample_rows import time_at


def test_a_lease_is_certain_until_it_runs_out():
    leases = LeaseTracker()
    with leases.track("t"):
        assert not leases.is_valid("t", time_at(0))
        leases.claim("t", time_at(10))
        assert leases.is_valid("t", time_at(9))
        assert not leases.is_valid("t", time_at(10))


def test_what_is_renewed_in_time_goes_on():
    leases = LeaseTracker()
    with leases.track("t"):
        leases.claim("t", time_at(10))
        leases.extend(["t"], time_at(18), time_at(9))
        assert leases.is_valid("t", time_at(17))


def test_what_ran_out_before_it_was_renewed_is_not_relied_on():
    leases = LeaseTracker()
    with leases.track("t"):
        leases.claim("t", time_at(10))
        leases.extend(["t"], time_at(18), time_at(11))
        assert leases.valid_tokens(time_at(11)) == frozenset()


def test_work_that_was_given_up_is_renewed_no_more():
    leases = LeaseTracker()
    with leases.track("done"):
        leases.claim("done", time_at(10))
    leases.extend(["done"], time_at(18), time_at(1))
    assert leases.valid_tokens(time_at(1)) == frozenset()
