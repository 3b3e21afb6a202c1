"""YAQL expressions in child processes: each ends in bounded time, whatever it calls."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from oslo_context.context import RequestContext

from heat_convergence.sandbox.expression_sandbox import ExpressionSandbox, SandboxSettings
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
        os.kill(child._process.pid, signal.SIGKILL)
        os.waitid(os.P_PID, child._process.pid, os.WEXITED | os.WNOWAIT)
    assert [sandbox.run(call("1 + 1")).value for _ in range(3)] == [2, 2, 2]


EVENTLET_PROGRAM = """
import eventlet
eventlet.monkey_patch()
import time
from heat_convergence.sandbox.expression_sandbox import ExpressionSandbox, SandboxSettings
from heat_convergence.template.limits import YaqlCall

sandbox = ExpressionSandbox(SandboxSettings(max_children=1))
for number in range(4):
    result = sandbox.run(YaqlCall("$.data + 1", number, 200, 10000, 1000, 5.0))
    assert result.value == number + 1, result
    child = sandbox._idle[0]
    time.sleep(0.3)  # the child waits for its next request meanwhile
    assert sandbox._idle == [child] and child.is_alive
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
    endless = call("sequence().len()", None, 0.2)
    with ThreadPoolExecutor(5) as pool:
        attacks = [pool.submit(run_as, sandbox, "p", endless) for _ in range(4)]
        answers = [
            pool.submit(run_as, sandbox, "q", call("$.data + 1", number)).result().value
            for number in range(20)
        ]
        unfinished = [each for each in attacks if not each.done()]
    assert answers == list(range(1, 21))
    assert len(unfinished) >= 2  # with both children they would have been before these answers
    assert all(each.result().error for each in attacks)


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
    tmp_path: Path, sandbox: ExpressionSandbox, expression: str
) -> None:
    limits = TemplateLimits(yaql_max_seconds=0.3, yaql_runner=sandbox)
    service = LocalService(f"sqlite:///{tmp_path}/sandbox.sqlite", limits=limits)
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
    answer = service.send("POST", "/stacks", {"stack_name": "s", "template": template})
    assert answer.status_int == 400
    assert "processor time" in answer.json["error"]["message"]
    assert time.process_time() - started_s < 5  # this process waits, it does not evaluate


def test_endless_expression_in_a_property_fails_the_resource(
    tmp_path: Path, sandbox: ExpressionSandbox
) -> None:
    limits = TemplateLimits(yaql_max_seconds=0.3, yaql_runner=sandbox)
    service = LocalService(f"sqlite:///{tmp_path}/engine.sqlite", limits=limits)
    expression = {
        "expression": "sequence($.data.len()).len()",
        "data": {"get_attr": ["a", "value"]},
    }
    template = {
        "heat_template_version": "2018-08-31",
        "resources": {
            "a": {"type": "OS::Heat::RandomString"},
            "b": {"type": "OS::Heat::Value", "properties": {"value": {"yaql": expression}}},
        },
    }
    service.send("POST", "/stacks", {"stack_name": "s", "template": template})
    found = service.send("GET", "/stacks/s")
    path = found.location.removeprefix("http://localhost/v1/p")
    shown = service.send("GET", f"{path}/resources/b")
    resource = shown.json["resource"]
    assert resource["resource_status"] == "CREATE_FAILED"
    assert "processor time" in resource["resource_status_reason"]
