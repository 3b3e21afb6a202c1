"""Mutated and generated requests to every route: no 5xx but 503, no invalid JSON.

A fixed seed in CI; HEAT_CONVERGENCE_TEST_FUZZ_REQUESTS and …_FUZZ_SEED choose others.
``python -m tools.fuzz`` sends any number and measures the time of each.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from random import Random

import pytest

from heat_convergence.api.openapi_schemas import BODIES
from heat_convergence.api.routes.route import Route
from heat_convergence.api.routes.table import ROUTES, RouteTable
from tests.fuzz.campaign import REQUESTS_PER_BLOCK, fuzz_requests, problem_of
from tests.fuzz.fuzzed_service import Answer, FuzzedRequest, FuzzedService
from tests.fuzz.request_mutations import make_request, request_to
from tests.fuzz.sample_requests import sampled_schemas

SEED = int(os.environ.get("HEAT_CONVERGENCE_TEST_FUZZ_SEED", "15"))
REQUESTS = int(os.environ.get("HEAT_CONVERGENCE_TEST_FUZZ_REQUESTS", "320"))
ROUTE_BLOCK = 10**9  # its project is no other block's


@pytest.fixture(scope="module")
def fuzzed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[FuzzedService]:
    service = FuzzedService(tmp_path_factory.mktemp("fuzz"))
    yield service
    service.close()


def test_fuzzed_requests_cause_no_server_error(fuzzed: FuzzedService) -> None:
    findings = fuzz_requests(fuzzed, seed=SEED, blocks=-(-REQUESTS // REQUESTS_PER_BLOCK))
    assert "\n".join(findings.failures) == ""
    assert findings.count >= REQUESTS
    accepted = sum(n for status, n in findings.statuses.items() if int(status) < 300)
    assert accepted > findings.count / 8  # what is always refused tests little


@pytest.mark.parametrize("route", ROUTES, ids=lambda route: f"{route.method} {route.path}")
def test_each_route_takes_odd_requests(fuzzed: FuzzedService, route: Route) -> None:
    fuzzed.begin_block(ROUTE_BLOCK)
    random = Random(f"{SEED}:{route.method}:{route.path}")
    for _ in range(3):
        request = request_to(route, fuzzed.project, fuzzed.existing, random)
        assert problem_of(fuzzed.send(request)) == "", request
    fuzzed.end_block(ROUTE_BLOCK)


def test_every_body_schema_has_a_sample() -> None:
    assert sampled_schemas() == set(BODIES)
    assert {route.body_schema for route in ROUTES} - {""} <= sampled_schemas()


def test_every_route_is_chosen_and_half_of_the_bodies_are_json() -> None:
    existing = {"stack_id": "i", "stack_name": "s"}
    requests = [make_request("p", existing, Random(number)) for number in range(2_000)]
    table = RouteTable()
    matches = [table.match(each.method, each.path.removeprefix("/v1/p")) for each in requests]
    assert {match.route for match in matches if match} >= set(ROUTES)
    bodies = [request.body for request in requests if request.body]
    objects = sum(1 for body in bodies if is_json_object(body))
    assert len(bodies) * 0.5 < objects < len(bodies) * 0.95


def is_json_object(body: bytes) -> bool:
    try:
        return isinstance(json.loads(body), dict)
    except (ValueError, RecursionError):
        return False


def test_same_seed_makes_the_same_requests() -> None:
    existing = {"stack_id": "i", "stack_name": "s"}
    first, second = (
        [make_request("p", existing, random) for _ in range(50)]
        for random in (Random("1:2"), Random("1:2"))
    )
    assert first == second


@pytest.mark.parametrize(
    ("answer", "problem"),
    [
        (Answer(500, b"{}"), "status 500"),
        (Answer(502, b""), "status 502"),
        (Answer(0, b"", RuntimeError("why")), "raised RuntimeError: why"),
        (Answer(200, b'{"a": NaN}'), "no JSON"),
        (Answer(400, b'{"a": "\xff"}'), "no JSON"),
    ],
)
def test_wrong_answers_are_failures(answer: Answer, problem: str) -> None:
    assert problem in problem_of(answer)


def test_failure_names_the_request_and_its_replay(
    fuzzed: FuzzedService, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(_request: FuzzedRequest) -> Answer:
        return Answer(500, b"{}")

    monkeypatch.setattr(fuzzed, "send", fail)
    findings = fuzz_requests(fuzzed, seed=3, first_block=7, blocks=1)
    assert len(findings.failures) == REQUESTS_PER_BLOCK
    assert "python -m tools.fuzz --seed 3 --first-block 7 --blocks 1" in findings.failures[0]
    assert "/v1/p7/" in findings.failures[0]
