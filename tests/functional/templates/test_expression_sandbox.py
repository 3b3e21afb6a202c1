"""YAQL expressions in child processes: each ends in bounded time, whatever it calls."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from oslo_context.context import RequestContext

from heat_convergence.sandbox.evaluation_errors import EvaluationUnavailable
from heat_convergence.sandbox.expression_sandbox import ExpressionSandbox, SandboxSettings
from heat_convergence.sandbox.remembered_failures import RememberedFailures
from heat_convergence.template.functions import yaql_evaluation
from heat_convergence.template.limits import TemplateLimits, YaqlCall, YaqlResult
from tests.functional.harness import LocalService

ENDLESS = [
    "sequence().len()",
    "[1].cycle().len()",
    "range(pow(10, 9)).len()",
    "range(1000000000).len()",
    "generate(1, true, $ + 1).len()",
    "range(0, 30000).select(range(0, 30000).select($).sum()).sum()",
]
# No steps, no iterator limits: nothing but the sandbox ends these.
ENDLESS_OF_AN_ATTRIBUTE = {
    "expression": "sequence($.data.len()).len()",
    "data": {"get_attr": ["a", "value"]},
}
URL = "http://localhost/v1/p"
UNLIMITED = {"limit_iterators": -1, "memory_quota_bytes": -1, "max_steps": 10**12}


def call(
    expression: str, data: object = None, max_seconds: float = 0.3, **limits: Any
) -> YaqlCall:
    return YaqlCall(expression, data, **{**UNLIMITED, **limits}, max_seconds=max_seconds)


@pytest.fixture(scope="module")
def sandbox() -> Iterator[ExpressionSandbox]:
    sandbox = ExpressionSandbox(SandboxSettings(max_children=2))
    sandbox.run(call("1"))  # the first one waits for the child to start
    yield sandbox
    sandbox.close()


@pytest.fixture
def impatient_service(tmp_path: Path, sandbox: ExpressionSandbox) -> Iterator[LocalService]:
    """Yield a service whose expressions may take 0.3 s of processor time.

    Requests wait for them as long as it takes on a busy machine.
    """
    limits = TemplateLimits(yaql_max_seconds=0.3, yaql_max_wall_seconds=60, yaql_runner=sandbox)
    service = LocalService(f"sqlite:///{tmp_path}/sandbox.sqlite", limits=limits)
    yield service
    service.close()


def test_value_and_time_of_an_expression_are_returned(sandbox: ExpressionSandbox) -> None:
    result = sandbox.run(call("$.data.a.select($ * 2)", {"a": [1, 2, {"é": None}][:2]}))
    assert (result.value, result.error) == ([2, 4], None)
    assert 0 <= result.seconds < 0.3
    assert 0 < result.steps_left < UNLIMITED["max_steps"]


@pytest.mark.parametrize("expression", ENDLESS)
def test_endless_expression_is_ended_by_its_time_limit(
    sandbox: ExpressionSandbox, expression: str
) -> None:
    result = sandbox.run(call(expression))
    assert result.value is None
    assert "more than 0.3 s of processor time" in str(result.error) or "Limit" in str(result.error)
    assert sandbox.run(call("1 + 1")).value == 2  # by another child


def test_expression_that_takes_too_much_memory_is_ended(sandbox: ExpressionSandbox) -> None:
    result = sandbox.run(call("'x' * 0 + list(range(300000000)).len()", max_seconds=5))
    assert result.value is None
    assert result.error is not None
    assert sandbox.run(call("1 + 1")).value == 2


@pytest.mark.parametrize(
    ("expression", "reason"),
    [
        ("pow(10, 6000)", "bits"),
        ("shiftBitsLeft(1, 65000)", "bits"),
        ("$.data.select($ * $ * $ * $)", "bits"),
        ("$.nothing.of.this", "nothing"),
        ("'a'.substring(0, 1) + chr(55296)", ""),
    ],
)
def test_results_that_cannot_be_stored_are_errors(
    sandbox: ExpressionSandbox, expression: str, reason: str
) -> None:
    result = sandbox.run(call(expression, [2**2500]))
    assert result.value is None
    assert reason in str(result.error)


def test_idle_child_that_has_ended_is_replaced(sandbox: ExpressionSandbox) -> None:
    assert sandbox.run(call("1")).value == 1
    for child in sandbox._idle:
        os.kill(child.process_id, signal.SIGKILL)
        child.connection.settimeout(10)
        assert child.connection.recv(1, socket.MSG_PEEK) == b""  # the process has ended
    assert [sandbox.run(call("1 + 1")).value for _ in range(3)] == [2, 2, 2]


EVENTLET_PROGRAM = """
import eventlet
eventlet.monkey_patch()
import time
from heat_convergence.sandbox.expression_sandbox import (
    ExpressionSandbox, SandboxSettings, _has_ended)
from heat_convergence.template.limits import YaqlCall

sandbox = ExpressionSandbox(SandboxSettings(max_children=1))
for number in range(4):
    result = sandbox.run(YaqlCall("$.data + 1", number, 200, 10000, 1000, 5.0))
    assert result.value == number + 1, result
    child = sandbox._idle[0]
    time.sleep(0.3)  # the child waits for its next request meanwhile
    assert sandbox._idle == [child] and not _has_ended(child)
sandbox.close()
"""


def test_child_serves_several_requests_under_eventlet() -> None:
    subprocess.run(
        [sys.executable, "-W", "ignore", "-c", EVENTLET_PROGRAM], check=True, timeout=120
    )


def test_expressions_beside_an_endless_one_are_answered(sandbox: ExpressionSandbox) -> None:
    endless = threading.Thread(target=sandbox.run, args=(call("sequence().len()", None, 2.0),))
    endless.start()
    answers = [sandbox.run(call("$.data + 1", number)).value for number in range(20)]
    still_busy = endless.is_alive()
    endless.join()
    assert answers == list(range(1, 21))
    assert still_busy


def run_as(sandbox: ExpressionSandbox, project_id: str, request: YaqlCall) -> YaqlResult:
    """Run an expression as the API does for a request of the project."""
    RequestContext(project_id=project_id)
    return sandbox.run(request)


def test_endless_expressions_of_a_project_leave_a_child_to_the_others(
    sandbox: ExpressionSandbox,
) -> None:
    endless = [call(f"sequence({number}).len()", None, 0.2) for number in range(4)]
    with ThreadPoolExecutor(5) as pool:
        attacks = [pool.submit(run_as, sandbox, "p", each) for each in endless]
        answers = [
            pool.submit(run_as, sandbox, "q", call("$.data + 1", number)).result().value
            for number in range(20)
        ]
        unfinished = [each for each in attacks if not each.done()]
    assert answers == list(range(1, 21))
    assert len(unfinished) >= 2  # with both children they would have been before these answers
    assert all(each.result().error for each in attacks)


def test_request_does_not_wait_for_all_expressions_of_its_project(
    sandbox: ExpressionSandbox,
) -> None:
    endless = call("sequence(50).len()", None, 3.0)
    with ThreadPoolExecutor(1) as pool:
        attack = pool.submit(run_as, sandbox, "p", endless)
        while not sandbox._slots.held_by("p"):
            time.sleep(0.01)
        with pytest.raises(EvaluationUnavailable, match="the project's others"):
            run_as(sandbox, "p", call("1", max_wall_seconds=0.1))
        assert not attack.done()
        assert run_as(sandbox, "q", call("1", max_wall_seconds=10)).value == 1
        assert attack.result().error


def test_expression_that_gets_no_processor_time_is_ended(sandbox: ExpressionSandbox) -> None:
    with pytest.raises(EvaluationUnavailable, match=r"within 0\.2 s"):
        sandbox.run(call("sequence(60).len()", None, 60, max_wall_seconds=0.2))
    assert sandbox.run(call("1 + 1")).value == 2


def test_expression_is_not_started_when_the_time_of_its_request_has_passed(
    sandbox: ExpressionSandbox,
) -> None:
    with pytest.raises(EvaluationUnavailable, match="not ended in time"):
        sandbox.run(call("1 + 1", max_wall_seconds=-0.9))


def test_failure_that_took_long_is_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    sandbox = ExpressionSandbox(SandboxSettings(max_children=1))
    evaluated: list[YaqlCall] = []
    run = sandbox._run

    def counted(call: YaqlCall) -> YaqlResult:
        evaluated.append(call)
        return run(call)

    monkeypatch.setattr(sandbox, "_run", counted)
    expression = "sequence($.data).len()"
    first = sandbox.run(call(expression, 1))
    assert sandbox.run(call(expression, 1)) == replace(first, wall_seconds=0.0)
    assert sandbox.run(call(expression, 1, max_seconds=0.2)).error == first.error
    assert len(evaluated) == 1
    sandbox.run(call(expression, 2))  # other data
    sandbox.run(call(expression, 1, max_seconds=0.4))  # more time
    assert len(evaluated) == 3
    for _ in range(2):
        sandbox.run(call("1"))  # no failure
        sandbox.run(call("$.nothing.of.this"))  # takes no time
    assert len(evaluated) == 7
    sandbox.close()


def test_number_of_remembered_failures_is_bounded() -> None:
    failures = RememberedFailures()
    result = YaqlResult(None, error="why", seconds=1.0)
    for number in range(5_000):
        failures.add(call("$", number), result)
    assert sum(failures.find(call("$", number)) is not None for number in range(5_000)) == 1_024
    assert failures.find(call("$", 4_999)) == result


def test_ended_child_is_replaced_by_the_same_server(sandbox: ExpressionSandbox) -> None:
    sandbox.run(call("1"))
    server = sandbox._server._process
    assert sandbox.run(call("sequence(70).len()")).error
    assert sandbox.run(call("1 + 1")).value == 2
    assert sandbox._server._process is server


def test_ended_server_is_replaced(sandbox: ExpressionSandbox) -> None:
    sandbox.run(call("1"))
    server = sandbox._server._process
    assert server is not None
    server.kill()
    server.wait()
    assert sandbox.run(call("sequence(80).len()")).error  # its child was alive
    assert [sandbox.run(call("1 + 1")).value for _ in range(3)] == [2, 2, 2]
    assert sandbox._server._process is not server


def test_without_a_process_an_expression_is_unavailable(monkeypatch: pytest.MonkeyPatch) -> None:
    sandbox = ExpressionSandbox(SandboxSettings(max_children=1))

    def fail(*_arguments: object, **_options: object) -> None:
        raise BlockingIOError(11, "Resource temporarily unavailable")

    with monkeypatch.context() as patch:
        patch.setattr(subprocess, "Popen", fail)
        with pytest.raises(EvaluationUnavailable, match="no process"):
            sandbox.run(call("1"))
    assert sandbox.run(call("1")).value == 1
    sandbox.close()


def test_expressions_are_parsed_in_the_child(
    impatient_service: LocalService, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The parser takes seconds for a long list, and nothing could stop it in the daemon."""

    def fail(expression: str) -> Any:
        raise AssertionError(f"{expression[:20]} is parsed in the daemon")

    monkeypatch.setattr(yaql_evaluation, "_parsed", fail)
    answers = [
        impatient_service.send(
            "POST", "/stacks/preview", {"stack_name": "s", "template": template_of(each)}
        )
        for each in ("[" + "1," * 30_000 + "1]", "[" + "1," * 1_000 + "]]", "[1, 2]]")
    ]
    assert [each.status_int for each in answers] == [400, 400, 400]
    messages = [each.json["error"]["message"] for each in answers]
    assert "more than 0.3 s of processor time" in messages[0]
    assert "Bad expression Parse error" in messages[1]
    assert "Bad expression Parse error" in messages[2]


def test_syntax_of_an_expression_is_checked_once(
    sandbox: ExpressionSandbox,
    impatient_service: LocalService,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    checked: list[str] = []
    run = sandbox.run

    def recorded(call: YaqlCall) -> YaqlResult:
        if call.syntax_only:
            checked.append(call.expression)
        return run(call)

    monkeypatch.setattr(ExpressionSandbox, "run", lambda _sandbox, call: recorded(call))
    correct, wrong = "$.data.len() + 12345", "$.data.len() + + 12345]"
    for expression in (correct, wrong) * 2:
        impatient_service.send(
            "POST", "/stacks/preview", {"stack_name": "s", "template": template_of(expression)}
        )
    assert checked == [correct, wrong, wrong]


def test_all_expressions_of_a_request_share_its_time(impatient_service: LocalService) -> None:
    template = {
        "heat_template_version": "2018-08-31",
        "resources": {"a": {"type": "OS::Heat::RandomString"}},
        "outputs": {name: {"value": {"yaql": ENDLESS_OF_AN_ATTRIBUTE}} for name in "bcd"},
    }
    impatient_service.send("POST", "/stacks", {"stack_name": "s", "template": template})
    shown = impatient_service.send(
        "GET", impatient_service.send("GET", "/stacks/s").location[len(URL) :]
    )
    errors = [each["output_error"] for each in shown.json["stack"]["outputs"]]
    assert "it takes more than 0.3 s" in errors[0]
    assert "expressions take more than 0.3 s of processor time together" in errors[1]


def template_of(expression: str) -> Any:
    """Return a template with the expression as an output."""
    value = {"yaql": {"expression": expression, "data": {}}}
    return {"heat_template_version": "2018-08-31", "outputs": {"o": {"value": value}}}


def test_fork_does_not_share_children(sandbox: ExpressionSandbox) -> None:
    pid = os.fork()
    if pid == 0:
        os._exit(0 if sandbox.run(call("2")).value == 2 else 1)
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        ended, status = os.waitpid(pid, os.WNOHANG)
        if ended:
            break
        time.sleep(0.05)
    assert ended
    assert os.waitstatus_to_exitcode(status) == 0
    assert sandbox.run(call("3")).value == 3


@pytest.mark.parametrize("expression", ["sequence().len()", "[1].cycle().len()"])
def test_endless_expression_in_a_template_is_refused(
    impatient_service: LocalService, expression: str
) -> None:
    template = {
        "heat_template_version": "2018-08-31",
        "outputs": {
            str(number): {"value": {"yaql": {"expression": expression, "data": {}}}}
            for number in range(20)
        },
        "resources": {
            "a": {
                "type": "OS::Heat::Value",
                "properties": {"value": {"yaql": {"expression": expression, "data": {}}}},
            }
        },
    }
    started_s = time.process_time()
    answer = impatient_service.send("POST", "/stacks", {"stack_name": "s", "template": template})
    assert answer.status_int == 400
    assert "processor time" in answer.json["error"]["message"]
    assert time.process_time() - started_s < 5  # this process waits, it does not evaluate


def test_endless_expression_in_a_property_fails_the_resource(
    impatient_service: LocalService,
) -> None:
    template = {
        "heat_template_version": "2018-08-31",
        "resources": {
            "a": {"type": "OS::Heat::RandomString"},
            "b": {
                "type": "OS::Heat::Value",
                "properties": {"value": {"yaql": ENDLESS_OF_AN_ATTRIBUTE}},
            },
        },
    }
    impatient_service.send("POST", "/stacks", {"stack_name": "s", "template": template})
    found = impatient_service.send("GET", "/stacks/s")
    path = found.location.removeprefix("http://localhost/v1/p")
    shown = impatient_service.send("GET", f"{path}/resources/b")
    resource = shown.json["resource"]
    assert resource["resource_status"] == "CREATE_FAILED"
    assert "processor time" in resource["resource_status_reason"]
