"""400 seeds on the in-memory store: no rule is broken, and no trouble is left out."""

from __future__ import annotations

import pytest

from heat_convergence.testing.faults import KINDS
from heat_convergence.testing.users import VERBS
from tests.simulation.seeds import batches, no_rule_is_broken, total

FIRSTS = batches(1, 400)

# What follows from faults and from chance, rather than being one.
FOLLOWS = {"bus overtaken", "lease expired", "swap lost", "cloud vanish", "cloud change"}


@pytest.mark.parametrize("first", FIRSTS)
def test_no_rule_is_broken(first: int) -> None:
    no_rule_is_broken(first, "memory")


def test_every_kind_of_trouble_comes_up() -> None:
    expected = {f"{kind} {fault}" for kind, faults in KINDS.items() for fault in faults}
    expected |= FOLLOWS | {f"user {verb}" for verb in VERBS if verb != "clear"}  # trees do
    tally = total(FIRSTS, "memory")
    assert tally.seeds == 400
    assert {name for name in expected if tally.happened[name] < 3} == set()
