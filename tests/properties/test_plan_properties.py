"""Random plans can be carried out."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from heat_convergence.convergence.model.action import Status
from heat_convergence.convergence.model.job import DesiredState, Verb
from heat_convergence.convergence.planning.desired_state import DesiredResource
from heat_convergence.convergence.planning.plan import plan_goal
from heat_convergence.testing.sample_rows import changed_row
from tests.unit.convergence.plan_helpers import (
    desired_by_name,
    desired_resource,
    plan_context,
    rows_after_completion,
)


@st.composite
def two_goals(draw: st.DrawFn) -> tuple[dict[str, DesiredResource], dict[str, DesiredResource]]:
    def one() -> dict[str, DesiredResource]:
        order = draw(st.permutations("abcdef"))
        chosen = [name for name in order if draw(st.booleans())]
        return desired_by_name(
            *(
                desired_resource(
                    name,
                    *(other for other in chosen[:at] if draw(st.booleans())),
                    text=draw(st.sampled_from("12")),
                    draws=draw(st.booleans()),
                )
                for at, name in enumerate(chosen)
            )
        )

    return one(), one()


@given(two_goals(), st.sampled_from(["complete", "in progress", "failed"]))
def test_every_plan_can_be_carried_out(
    goals: tuple[dict[str, DesiredResource], dict[str, DesiredResource]], state: str
) -> None:
    rows = rows_after_completion(plan_goal([], goals[0], plan_context(1)))
    if state == "in progress":
        rows = [changed_row(r, job=Verb.CONVERGE, status=Status.IN_PROGRESS) for r in rows]
    elif state == "failed":
        rows = [changed_row(r, job=Verb.CONVERGE, status=Status.FAILED) for r in rows]
    second = plan_context()
    plan = plan_goal(rows, goals[1], second)
    waiting = {row.id for row in (*plan.added, *plan.changed, *plan.rescheduled)}
    needs: dict[str, set[str]] = {row_id: set() for row_id in waiting}
    for edge in plan.edges:
        if edge.needed_by in needs and not edge.observed_ready:
            needs[edge.needed_by].add(edge.resource_id)
    while waiting:
        leaves = {row_id for row_id in waiting if not needs[row_id] & waiting}
        assert leaves, "the jobs form a cycle"
        waiting -= leaves
    present = [
        r
        for r in (*plan.added, *plan.changed, *plan.rescheduled)
        if r.desired.state is DesiredState.PRESENT
    ]
    kept = [row for row in rows if row.id in plan.ready_ids]
    assert sorted(row.name for row in (*present, *kept)) == sorted(goals[1])
