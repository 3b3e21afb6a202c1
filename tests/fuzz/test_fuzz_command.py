"""The command that sends any number of fuzzed requests."""

from __future__ import annotations

import re

import pytest

from tests.fuzz import campaign
from tests.fuzz.campaign import REQUESTS_PER_BLOCK, Findings, route_of
from tests.fuzz.fuzzed_service import FuzzedRequest
from tests.fuzz.other_tenant import describe
from tools import fuzz
from tools.fuzz import main


def test_command_counts_cases_and_succeeds_without_failures(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["--seed", "5", "--requests", "1", "--expressions", "20"]) == 0
    printed = capsys.readouterr().out
    assert f"after {REQUESTS_PER_BLOCK} requests: memory of the service " in printed
    assert f"requests: {REQUESTS_PER_BLOCK}, " in printed
    assert re.search(r"\n  \d\.\d{3} s of processor time: [A-Z]+ /", printed)
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
    monkeypatch.setattr(fuzz, "_UNDISTURBED_S", 0.0)
    assert main(["--seed", "6", "--remote-requests", "1"]) == 0
    printed = capsys.readouterr().out
    assert "another tenant alone: 3 requests, " in printed
    assert f"after {REQUESTS_PER_BLOCK} requests: memory of the service " in printed
    assert "another tenant beside them: " in printed
    assert f"remote requests: {REQUESTS_PER_BLOCK}, " in printed


def test_slowest_requests_are_known_by_their_route() -> None:
    findings = Findings()
    findings.slowest_by_route.update({f"GET /{number}": number / 10 for number in range(20)})
    assert findings.slowest_routes(2) == [("GET /19", 1.9), ("GET /18", 1.8)]
    request = FuzzedRequest("GET", "/v1/p1/software_configs/c")
    assert route_of(request, "p1") == "GET /software_configs/{config_id}"
    assert route_of(request, "p2") == "no route"


def test_percentiles_of_another_tenant_are_those_of_its_requests() -> None:
    described = describe([float(number) for number in range(200)])
    assert described == "200 requests, p50 100 ms, p95 190 ms, p99 198 ms, longest 199 ms"
