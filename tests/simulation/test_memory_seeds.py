"""400 seeds on the memory store: no rule is violated, and every fault occurs."""

from __future__ import annotations

import pytest

from heat_convergence.testing.simulation.fault_injector import FAULTS_BY_POINT_TYPE
from heat_convergence.testing.simulation.workload.user_requests import (
    HANDOVER_OPERATIONS,
    OPERATIONS,
    QUARANTINE_OPERATIONS,
)
from tests.simulation.seed_batches import assert_no_violation, batch_starts, sum_batches

BATCH_STARTS = batch_starts(1, 400)

# Trees clear hooks; the families of the quarantine and of hand-overs have the others.
_OTHER_FAMILIES = frozenset({"clear_hook", *QUARANTINE_OPERATIONS, *HANDOVER_OPERATIONS})
# Consequences of faults.
CONSEQUENCES = {
    "message overtaken",
    "lease expired",
    "lease lost",
    "external delete",
    "external change",
}


@pytest.mark.parametrize("first", BATCH_STARTS)
def test_no_rule_is_violated(first: int) -> None:
    assert_no_violation(first, "memory")


def test_every_fault_and_consequence_occurs() -> None:
    expected = {
        f"{point_type} {fault}"
        for point_type, faults in FAULTS_BY_POINT_TYPE.items()
        for fault in faults
    }
    expected |= CONSEQUENCES | {
        f"user {verb}" for verb in OPERATIONS if verb not in _OTHER_FAMILIES
    }
    tally = sum_batches(BATCH_STARTS, "memory")
    assert tally.seed_count == 400
    assert {name for name in expected if tally.occurrences[name] < 3} == set()
