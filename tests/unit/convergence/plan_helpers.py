"""Goals, contexts and completed rows for tests of plans."""

from __future__ import annotations

import itertools
from datetime import UTC, datetime

from heat_convergence.convergence.model.action import Action, Status
from heat_convergence.convergence.model.job import DesiredState
from heat_convergence.convergence.model.resource import Resource
from heat_convergence.convergence.planning.desired_state import DesiredResource, PlanContext
from heat_convergence.convergence.planning.plan import Plan
from heat_convergence.testing.sample_rows import changed_row

NOW = datetime(2026, 1, 1, tzinfo=UTC)


def plan_context(version: int = 2) -> PlanContext:
    count = itertools.count(1)
    return PlanContext(
        "stack", "web", version, NOW, lambda: f"v{version}-{next(count):04d}-abcdefgh"
    )


def desired_resource(
    name: str, *requires: str, text: str = "1", draws: bool = True
) -> DesiredResource:
    return DesiredResource(
        name=name,
        type="T",
        implementation="T",
        definition={"type": "T", "text": text},
        definition_hash=f"{name}:{text}:{sorted(requires)}",
        requires=frozenset(requires),
        referenced_names=frozenset(requires if draws else ()),
    )


def desired_by_name(*resources: DesiredResource) -> dict[str, DesiredResource]:
    return {each.name: each for each in resources}


def rows_after_completion(plan: Plan) -> list[Resource]:
    """Return the rows after all jobs of the plan have succeeded."""
    rows = [*plan.added, *plan.changed, *plan.rescheduled]
    return [
        changed_row(
            row,
            job=None,
            job_state=None,
            physical_id=f"phys-{row.id}",
            action=Action.CREATE if row.state.action is Action.INIT else Action.UPDATE,
            status=Status.COMPLETE,
            applied_hash=row.desired.definition_hash,
        )
        for row in rows
        if row.desired.state is DesiredState.PRESENT
    ]
