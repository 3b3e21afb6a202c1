"""The command that sends any number of fuzzed requests."""

from __future__ import annotations

import pytest

from tests.fuzz import campaign
from tests.fuzz.campaign import REQUESTS_PER_BLOCK
from tests.fuzz.other_tenant import describe
from tools import fuzz
from tools.fuzz import main


def test_command_counts_cases_and_succeeds_without_failures(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["--seed", "5", "--requests", "1", "--expressions", "20"]) == 0
    printed = capsys.readouterr().out
    assert f"requests: {REQUESTS_PER_BLOCK}, " in printed
    assert "expressions: 20, " in printed
    assert "failures 0, slow 0" in printed


def test_command_prints_failures_and_fails(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(campaign, "problem_of", lambda _answer: "planted")
    monkeypatch.setattr(campaign, "SLOW_S", -1.0)
    assert main(["--seed", "4", "--first-block", "9", "--blocks", "1"]) == 1
    printed = capsys.readouterr().out
    assert "planted" in printed
    assert f"failures {REQUESTS_PER_BLOCK}, slow {REQUESTS_PER_BLOCK}" in printed
    assert "python -m tools.fuzz --seed 4 --first-block 9 --blocks 1" in printed


def test_command_measures_another_tenant_beside_the_requests(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fuzz, "_UNDISTURBED_S", 1.0)
    assert main(["--seed", "6", "--remote-requests", "1"]) == 0
    printed = capsys.readouterr().out
    assert "another tenant alone: " in printed
    assert "another tenant beside them: " in printed
    assert f"remote requests: {REQUESTS_PER_BLOCK}, " in printed


def test_percentiles_of_another_tenant_are_those_of_its_requests() -> None:
    described = describe([float(number) for number in range(200)])
    assert described == "200 requests, p50 100 ms, p95 190 ms, p99 198 ms, longest 199 ms"
