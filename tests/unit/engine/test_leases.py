"""Which leases an engine may rely on."""

from __future__ import annotations

from heat_convergence.engine.leases import Leases
from heat_convergence.testing.rows import at


def test_a_lease_is_certain_until_it_runs_out():
    leases = Leases()
    with leases.working("t"):
        assert not leases.certain("t", at(0))
        leases.taken("t", at(10))
        assert leases.certain("t", at(9))
        assert not leases.certain("t", at(10))


def test_what_is_renewed_in_time_goes_on():
    leases = Leases()
    with leases.working("t"):
        leases.taken("t", at(10))
        leases.renewed(["t"], at(18), at(9))
        assert leases.certain("t", at(17))


def test_what_ran_out_before_it_was_renewed_is_not_relied_on():
    leases = Leases()
    with leases.working("t"):
        leases.taken("t", at(10))
        leases.renewed(["t"], at(18), at(11))
        assert leases.held(at(11)) == frozenset()


def test_work_that_was_given_up_is_renewed_no_more():
    leases = Leases()
    with leases.working("done"):
        leases.taken("done", at(10))
    leases.renewed(["done"], at(18), at(1))
    assert leases.held(at(1)) == frozenset()
