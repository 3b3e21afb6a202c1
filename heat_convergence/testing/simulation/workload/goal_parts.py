"""The choice of the part of a goal that a simulated update looks at.

Called by the simulated users inside the transaction of an update.  The API chooses by the texts
of templates; here it is done by the rows, so that every update that may look at a part can.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Mapping

from heat_convergence.convergence.model.resource import Resource
from heat_convergence.convergence.planning.desired_state import DesiredResource
from heat_convergence.convergence.planning.goal_part import GoalPart, has_reached_goal
from heat_convergence.convergence.ports.store import Transaction
from heat_convergence.graph.graph import Graph


def choose_part(
    tx: Transaction, stack_id: str, desired: Mapping[str, DesiredResource], template: str
) -> GoalPart | None:
    """Return the part of a goal that an update looks at; None for all of it.

    Every other template is looked at as a whole, so that both happen.
    """
    stack = tx.stacks.get(stack_id)
    special = any(
        each.has_nested_stack or each.hooks_and_restrictions or each.runs_on_update
        for each in desired.values()
    )
    if stack is None or special or not has_reached_goal(stack) or _is_odd(template):
        return None
    rows = {row.name: row for row in tx.resources.get_by_stack(stack_id)}
    changing, names = _select(rows, desired)
    others = desired.keys() - names
    return GoalPart(
        version=stack.version,
        names=names,
        changing=changing,
        implementations={each.type: each.implementation for each in desired.values()},
        fewest_others=len(others),
        most_others=len(others),
    )


def _is_odd(template: str) -> bool:
    return zlib.crc32(template.encode()) % 2 == 1


def _select(
    rows: Mapping[str, Resource], desired: Mapping[str, DesiredResource]
) -> tuple[frozenset[str], frozenset[str]]:
    """Return the names that may get a job, and these with all that they require."""
    edited = {
        name
        for name in rows.keys() | desired.keys()
        if name not in rows
        or name not in desired
        or rows[name].desired.definition_hash != desired[name].definition_hash
    }
    requires: dict[str, Iterable[str]] = {name: each.requires for name, each in desired.items()}
    requires |= dict.fromkeys(rows.keys() - desired.keys(), ())
    graph = Graph.from_requirements(requires)
    changing = graph.with_dependents(edited)
    required = {need for name in edited & rows.keys() for need in rows[name].desired.requires}
    return changing, graph.with_requirements(changing | required)
