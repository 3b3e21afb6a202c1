"""The resources that an update leaves as they are.

Called by the validation of updates, which asks no service about them. Decides by the plan that
the update itself would make; must not read anything but its arguments.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import count

from heat_convergence.convergence.model.resource import Resource
from heat_convergence.convergence.model.stack import Stack
from heat_convergence.convergence.planning.desired_state import (
    DesiredResource,
    PlanContext,
    StateSource,
)
from heat_convergence.convergence.planning.incarnations import choose_incarnations
from heat_convergence.stacks.source.template_source import StoredGoal
from heat_convergence.template.parameters.parameter_values import ParameterValue


@dataclass(frozen=True, slots=True)
class UpdateBase:
    """The state that an update starts from.

    Attributes:
        goal: the replaced goal; None if its rows or texts are missing.
        load_rows: gives the stack's resources, or those of some names; called only if services
            would be asked.
        state_source: whether the update observes what it leaves as it is.
        stored_stack: the stack as it is stored, for an update that may look at a part of its
            template; None if it looks at all of it.
        part_names: names of the resources of that part; None for all.
    """

    goal: StoredGoal | None
    load_rows: Callable[[Collection[str] | None], Sequence[Resource]] = lambda _names: ()
    state_source: StateSource = StateSource.RECORDED
    stored_stack: Stack | None = None
    part_names: frozenset[str] | None = None


def find_kept_names(
    rows: Sequence[Resource],
    desired_resources: Mapping[str, DesiredResource],
    stack: Stack,
    state_source: StateSource,
    now: datetime,
) -> frozenset[str]:
    """Return the names of the resources that an update has no job for.

    Nothing inside their nested stacks has one either.
    """
    ids = map(str, count()).__next__  # of rows that are stored nowhere
    context = PlanContext.of_next_update(stack, now, ids, state_source)
    chosen = choose_incarnations(rows, desired_resources, context)
    return frozenset(name for name, row in chosen.items() if row.job.verb is None)


def have_same_parameters(
    before: Mapping[str, ParameterValue], after: Mapping[str, ParameterValue]
) -> bool:
    """Return whether no parameter has another value or constraint than before."""
    return all(
        name in before
        and before[name].value == value.value
        and before[name].schema.constraints == value.schema.constraints
        for name, value in after.items()
        if not value.is_pseudo
    )
