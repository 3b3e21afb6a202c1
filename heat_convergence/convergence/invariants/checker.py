"""The check of all rules over one step.

Called by the simulator after every step, and by the command that checks a deployment's
rows.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from heat_convergence.convergence.invariants.completeness import rule_7, rule_10
from heat_convergence.convergence.invariants.leases import rule_3
from heat_convergence.convergence.invariants.physical_resources import rule_4, rule_5
from heat_convergence.convergence.invariants.recovery import rule_1, rule_9
from heat_convergence.convergence.invariants.start_order import rule_2, rule_6
from heat_convergence.convergence.invariants.transition import (
    Transition,
    Violation,
    ViolationMessages,
)


def rule_8(step: Transition) -> ViolationMessages:
    """RULE 8: users' requests are accepted at any time, unless the state forbids them."""
    if step.rejection not in (None, "NotSupported"):
        yield f"a request about stack {step.after.stack.name} was refused: {step.rejection}"


INVARIANTS: Sequence[Callable[[Transition], ViolationMessages]] = (
    rule_1,
    rule_2,
    rule_3,
    rule_4,
    rule_5,
    rule_6,
    rule_7,
    rule_8,
    rule_9,
    rule_10,
)


def find_violations(step: Transition) -> list[Violation]:
    """Return everything that the step violates, in the order of the rules."""
    return [
        Violation(number, message)
        for number, rule in enumerate(INVARIANTS, start=1)
        for message in rule(step)
    ]
