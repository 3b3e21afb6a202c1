"""Seeds whose deletions fail and quarantine: nothing is orphaned, and the check sees it."""

from __future__ import annotations

from collections import Counter

import pytest

from heat_convergence.convergence.lifecycle.quarantine import failed_deletions
from heat_convergence.observer.quarantine_retries import QuarantineRetries
from heat_convergence.testing.memory.quarantine.repository import MemoryQuarantineRepository
from heat_convergence.testing.simulation.scenarios import transcript
from heat_convergence.testing.simulation.scenarios.campaign import CampaignOptions, run_seeds

OPTIONS = CampaignOptions(scenario_family="quarantine")
SCENARIO = """\
environment retry_limit=1
create red
  a: Resource
  b: Resource references=a
settle
fail delete b permanent times=2
delete red quarantine
settle
run 130
finish
"""


def test_no_rule_is_violated() -> None:
    occurrences: Counter[str] = Counter()
    for each in run_seeds(range(1, 31), OPTIONS):
        assert each.violation is None, each.scenario_text
        occurrences += each.occurrences
    assert occurrences["quarantined"] > 3
    assert occurrences["user retry_quarantined"] > 3
    assert occurrences["user dismiss_quarantined"] > 3


def violated_rule() -> str:
    shown = transcript.record_scenario(SCENARIO)
    found = [line for line in shown.splitlines() if line.startswith("| VIOLATED ")]
    return found[0].removeprefix("| VIOLATED ") if found else ""


def test_a_correct_service_violates_nothing() -> None:
    assert violated_rule() == ""


def test_resources_that_are_forgotten_are_detected(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(MemoryQuarantineRepository, "list_ids", lambda *_args: frozenset())
    assert violated_rule().startswith("rule 4: ")


def test_a_use_that_is_forgotten_is_detected(monkeypatch: pytest.MonkeyPatch) -> None:
    """Observers delete what a quarantined resource uses before it."""
    monkeypatch.setattr(MemoryQuarantineRepository, "find_blockers", lambda *_args: frozenset())
    monkeypatch.setattr(QuarantineRetries, "record_results", lambda *_args: None)
    assert violated_rule().startswith("rule 5: ")


def test_dependents_that_go_on_are_detected(monkeypatch: pytest.MonkeyPatch) -> None:
    """Engines delete what a quarantined resource uses."""
    monkeypatch.setattr(failed_deletions, "_find_dependents", lambda *_args: {})
    assert violated_rule() != ""


def test_a_quarantine_that_nobody_tries_is_detected(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(QuarantineRetries, "retry_due", lambda *_args: None)
    assert violated_rule() == "rule 9: the quarantine is not emptied"
