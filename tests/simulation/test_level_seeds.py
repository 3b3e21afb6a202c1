"""Seeds whose resources reach their levels one after the other; a wrong start is caught."""

from __future__ import annotations

from collections import Counter

import pytest

from heat_convergence.convergence.lifecycle import traversal
from heat_convergence.convergence.lifecycle.readiness import early_release
from heat_convergence.convergence.lifecycle.stabilization import window
from heat_convergence.convergence.planning import requirement_levels
from heat_convergence.template.environment.readiness import ReadinessLevel
from heat_convergence.testing.simulation.readiness.level_rule import STARTED_EARLY
from heat_convergence.testing.simulation.readiness.window_rule import (
    COMPLETE_AFTER_WINDOW,
    FAILED_IN_WINDOW,
)
from heat_convergence.testing.simulation.scenarios import transcript
from heat_convergence.testing.simulation.scenarios.campaign import CampaignOptions, run_seeds

SCENARIO = """\
environment
duration create a 20
create red
  a: Staged
  b: {alias} references=a
settle
finish
"""

WINDOW_SCENARIO = """\
environment
create red
  a: Staged stabilization=20
  b: Staged stabilization=10
run 12
degrade a
settle
finish
"""


@pytest.mark.parametrize(("store", "count"), [("memory", 60), ("sqlite", 15)])
def test_no_rule_is_violated(store: str, count: int) -> None:
    occurrences: Counter[str] = Counter()
    for each in run_seeds(
        range(1, count + 1), CampaignOptions(scenario_family="levels", store=store)
    ):
        assert each.violation is None, each.scenario_text
        occurrences += each.occurrences
    assert occurrences[STARTED_EARLY] > 0
    assert occurrences[COMPLETE_AFTER_WINDOW] > 0
    assert occurrences[FAILED_IN_WINDOW] > 0 or store != "memory"


def violation(alias: str) -> str:
    return violation_of(SCENARIO.format(alias=alias))


def violation_of(scenario: str) -> str:
    shown = transcript.record_scenario(scenario)
    return next((line for line in shown.splitlines() if line.startswith("| VIOLATED ")), "")


@pytest.mark.parametrize("alias", ["Resource", "Immutable", "Signalled"])
def test_nothing_is_violated_without_a_defect(alias: str) -> None:
    assert violation(alias) == ""


def test_release_before_the_level_is_reached_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        early_release, "_level_reached", lambda _row, _observation: ReadinessLevel.ACTIVE
    )
    assert violation("Resource").startswith("| VIOLATED rule 2: b ")


def test_edge_with_a_level_that_is_too_low_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        requirement_levels, "level_for_dependent", lambda _levels, _type: ReadinessLevel.EXISTS
    )
    assert violation("Resource").startswith("| VIOLATED rule 2: b ")


def test_ready_resource_that_is_not_healthy_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(requirement_levels, "demands_health", lambda _words: True)
    assert violation("Signalled").startswith("| VIOLATED rule 2: b ")


def test_resource_that_loses_its_health_in_the_window_violates_nothing() -> None:
    assert violation_of(WINDOW_SCENARIO) == ""


def test_stack_that_waits_for_no_window_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(traversal, "longest_window_s", lambda _action, _desired: None)
    found = violation_of(WINDOW_SCENARIO)
    assert found == "| VIOLATED rule 7: stack red is COMPLETE after 0 of 20 s"


def test_window_that_is_too_short_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(window, "window_of", lambda _row: 5)
    assert "COMPLETE after 5" in violation_of(WINDOW_SCENARIO)


def test_loss_of_health_that_is_ignored_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(window, "_is_healthy", lambda _observation: True)
    found = violation_of(WINDOW_SCENARIO)
    assert found.startswith("| VIOLATED rule 7: stack red is COMPLETE, and a was not healthy")
