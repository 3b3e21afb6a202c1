"""A campaign of fuzzed requests or expressions: what went wrong, and how to replay it."""

from __future__ import annotations

import heapq
import json
import logging
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from random import Random

from heat_convergence.api.routes.table import RouteTable
from heat_convergence.template.limits import DEFAULT_LIMITS, YaqlCall, YaqlRunner
from tests.fuzz.expression_grammar import make_data, make_expression
from tests.fuzz.fuzzed_service import Answer, FuzzedRequest, FuzzedService
from tests.fuzz.process_usage import processor_seconds
from tests.fuzz.request_mutations import make_request

REQUESTS_PER_BLOCK = 40
SLOW_S = 2.0
_SHOWN_BYTES = 3_000
_ROUTES = RouteTable()


@dataclass(slots=True)
class Findings:
    """The findings of a campaign.

    Attributes:
        failures: A text for each answer that must not be, with its replay.
        slow: A text for each case that took longer than ``SLOW_S`` of processor time.
        statuses: Number of answers by status, or of results by their kind.
        slowest_s: Processor time of the slowest case.
        slowest_wall_s: Wall-clock time of the slowest case.
        slowest_by_route: Processor time of the slowest request to each route.
    """

    failures: list[str] = field(default_factory=list)
    slow: list[str] = field(default_factory=list)
    statuses: Counter[str] = field(default_factory=Counter)
    slowest_s: float = 0.0
    slowest_wall_s: float = 0.0
    slowest_by_route: dict[str, float] = field(default_factory=dict)

    @property
    def count(self) -> int:
        """The number of cases."""
        return self.statuses.total()

    def slowest_routes(self, count: int) -> list[tuple[str, float]]:
        """Return the routes with the slowest requests, and the seconds of these."""
        return heapq.nlargest(count, self.slowest_by_route.items(), key=lambda route: route[1])


def fuzz_requests(
    fuzzed: FuzzedService,
    *,
    seed: int,
    first_block: int = 0,
    blocks: int,
    after_block: Callable[[int, Findings], None] = lambda _block, _findings: None,
) -> Findings:
    """Send the requests of some blocks and return the findings."""
    findings = Findings()
    for number in range(first_block, first_block + blocks):
        random = Random(f"{seed}:{number}")
        fuzzed.begin_block(number)
        for _ in range(REQUESTS_PER_BLOCK):
            request = make_request(fuzzed.project, fuzzed.existing, random)
            answer = fuzzed.send(request)
            replay = f"python -m tools.fuzz --seed {seed} --first-block {number} --blocks 1"
            _judge(fuzzed, request, answer, replay, findings)
        fuzzed.end_block(number)
        after_block(number, findings)
    return findings


def _judge(
    fuzzed: FuzzedService, request: FuzzedRequest, answer: Answer, replay: str, findings: Findings
) -> None:
    findings.statuses[str(answer.status)] += 1
    findings.slowest_s = max(findings.slowest_s, fuzzed.processor_seconds)
    findings.slowest_wall_s = max(findings.slowest_wall_s, fuzzed.seconds)
    route = route_of(request, fuzzed.project)
    seconds = max(findings.slowest_by_route.get(route, 0.0), fuzzed.processor_seconds)
    findings.slowest_by_route[route] = seconds
    problem = problem_of(answer)
    if problem:
        findings.failures.append(f"{problem}\n  {_described(request)}\n  replay: {replay}")
    if fuzzed.processor_seconds > SLOW_S:
        findings.slow.append(
            f"{fuzzed.processor_seconds:.1f} s\n  {_described(request)}\n  replay: {replay}"
        )


def route_of(request: FuzzedRequest, project: str) -> str:
    """Return the method and the path of the route that a request is for."""
    match = _ROUTES.match(request.method, request.path.removeprefix(f"/v1/{project}"))
    if match is None or match.route is None:
        return "no route"
    return f"{match.route.method} {match.route.path}"


def problem_of(answer: Answer) -> str:
    """Return what is wrong with an answer; empty if nothing is."""
    if answer.error is not None:
        logging.getLogger(__name__).error("the service raised", exc_info=answer.error)
        return f"raised {type(answer.error).__name__}: {answer.error}"
    if answer.status >= 500 and answer.status != 503:
        return f"status {answer.status}: {answer.body[:300]!r}"
    if answer.body[:1] in (b"{", b"["):
        try:
            json.loads(answer.body.decode(), parse_constant=_refuse)
        except ValueError as error:
            return f"status {answer.status}, the body is no JSON: {error}"
    return ""


def _refuse(name: str) -> None:
    raise ValueError(f"{name} is no JSON")


def _described(request: FuzzedRequest) -> str:
    headers = {name: value for name, value in request.headers.items() if name != "CONTENT_TYPE"}
    return (
        f"{request.method} {request.path}?{request.query} {headers}"
        f" {request.body[:_SHOWN_BYTES]!r}"
    )


def fuzz_expressions(
    runner: YaqlRunner, *, seed: int, first: int = 0, count: int, max_seconds: float
) -> Findings:
    """Evaluate generated expressions; each must end with a value or a reason in its time."""
    findings = Findings()
    for number in range(first, first + count):
        random = Random(f"{seed}:{number}")
        expression, data = make_expression(random), make_data(random)
        call = YaqlCall(
            expression,
            data,
            DEFAULT_LIMITS.yaql_limit_iterators,
            DEFAULT_LIMITS.yaql_memory_quota_bytes,
            DEFAULT_LIMITS.yaql_max_steps,
            max_seconds,
        )
        started_s = processor_seconds()
        problem = _evaluate(runner, call, findings)
        taken_s = processor_seconds() - started_s
        findings.slowest_s = max(findings.slowest_s, taken_s)
        replay = f"python -m tools.fuzz --seed {seed} --first-expression {number} --expressions 1"
        if problem:
            findings.failures.append(f"{problem}\n  {expression!r} {data!r}\n  replay: {replay}")
        if taken_s > SLOW_S:
            findings.slow.append(f"{taken_s:.1f} s\n  {expression!r} {data!r}\n  replay: {replay}")
    return findings


def _evaluate(runner: YaqlRunner, call: YaqlCall, findings: Findings) -> str:
    """Evaluate one expression; return what is wrong, empty if nothing is."""
    try:
        result = runner.run(call)
        json.dumps(result.value, allow_nan=False).encode()
        str(result.value).encode()
    except Exception as error:  # noqa: BLE001  # each is a finding
        return f"raised {type(error).__name__}: {error}"
    findings.statuses["value" if result.error is None else "error"] += 1
    if result.error is not None and not result.error.strip():
        return "an error without a text"
    if result.seconds > call.max_seconds * 2:
        return f"took {result.seconds:.1f} s of {call.max_seconds:.1f} s"
    return ""
