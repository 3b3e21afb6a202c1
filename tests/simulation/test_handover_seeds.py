"""Seeds whose users import, move and rename resources; a hand-over with a defect is caught."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import pytest

from heat_convergence.convergence.lifecycle.handover import resource_handover
from heat_convergence.convergence.model.resource import Resource
from heat_convergence.convergence.planning import handover
from heat_convergence.testing.simulation.handover import handover_users
from heat_convergence.testing.simulation.handover.handover_rule import (
    IMPORTED_OBJECT,
    MOVED,
    RENAMED,
)
from heat_convergence.testing.simulation.scenarios import transcript
from heat_convergence.testing.simulation.scenarios.campaign import CampaignOptions, run_seeds

MOVES = """\
environment
create red
  a: Resource size=2
  b: Resource references=a
create blue
  a: Resource
settle
move red b to=blue
run 5
rename blue a as=z
settle
finish
"""

IMPORTS = """\
environment
create red
  c: Resource
create blue
  c: Resource
settle
make_by_hand
import red a
run 5
settle
finish
"""


@pytest.mark.parametrize(("store", "count"), [("memory", 80), ("sqlite", 15)])
def test_no_rule_is_violated(store: str, count: int) -> None:
    occurrences: Counter[str] = Counter()
    options = CampaignOptions(scenario_family="handover", store=store)
    for each in run_seeds(range(1, count + 1), options):
        assert each.violation is None, each.scenario_text
        occurrences += each.occurrences
    for name in (MOVED, RENAMED, IMPORTED_OBJECT):
        assert occurrences[name] > count / 10


def violation_of(scenario: str) -> str:
    shown = transcript.record_scenario(scenario)
    found = [line for line in shown.splitlines() if line.startswith("| VIOLATED ")]
    return found[0].removeprefix("| VIOLATED ") if found else ""


@pytest.mark.parametrize("scenario", [MOVES, IMPORTS])
def test_nothing_is_violated_without_a_defect(scenario: str) -> None:
    assert violation_of(scenario) == ""


def test_a_moved_resource_that_is_to_be_updated_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    def unsettled(rows: Sequence[Resource], _desired: Mapping[str, Any]) -> list[Resource]:
        return [
            replace(row, physical=replace(row.physical, applied_hash="another")) for row in rows
        ]

    monkeypatch.setattr(resource_handover, "settle_rows", unsettled)
    monkeypatch.setattr(resource_handover, "_require_complete", lambda *_args: None)
    assert violation_of(MOVES).startswith("rule 4: a hand-over of stack ")


def test_a_resource_that_is_lost_on_the_way_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    def losing(row: Resource, move: handover.ResourceMove) -> Resource:
        moved = placed(row, move)
        return replace(moved, physical=replace(moved.physical, id="another"))

    placed = handover._placed
    monkeypatch.setattr(handover, "_placed", losing)
    monkeypatch.setattr(
        resource_handover, "_COLUMNS", [*resource_handover._COLUMNS, "physical_id"]
    )
    monkeypatch.setattr(
        resource_handover, "_COMPARED", (*resource_handover._COMPARED, "physical_id")
    )
    assert violation_of(MOVES).startswith("rule 4: ")


def test_a_second_owner_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two stacks import one object, and nothing looks for other owners."""
    monkeypatch.setattr(handover_users, "require_still_unowned", lambda *_args: None)
    monkeypatch.setattr(
        handover_users,
        "find_importable",
        lambda cloud: next(iter(cloud.active_objects()), None),
    )
    both = IMPORTS.replace("import red a\n", "import red a\nimport blue a\n")
    assert "has 2 owners" in violation_of(both)


def test_a_second_owner_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        handover_users,
        "find_importable",
        lambda cloud: next(iter(cloud.active_objects()), None),
    )
    both = IMPORTS.replace("import red a\n", "import red a\nimport blue a\n")
    shown = transcript.record_scenario(both)
    assert "| refused: PlanOutdated" in shown
    assert "VIOLATED" not in shown


def test_a_rollback_to_the_goal_before_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    hand_over = handover_users.hand_over

    def with_old_goal(tx: Any, *args: Any) -> Any:
        started = hand_over(tx, *args)
        for each in started:
            tx.stacks.update(each.stack.id, complete_goal_id=None)
        return started

    monkeypatch.setattr(handover_users, "hand_over", with_old_goal)
    assert "leaves the goal before" in violation_of(MOVES)
