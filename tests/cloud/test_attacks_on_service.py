"""Attacks of one tenant on the service, beside real services.

``pytest -rP`` shows each request with its answer and milliseconds. No test asserts milliseconds,
but each request and each action of a stack must end in bounded time.
"""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from tests.cloud.attacks import (
    RequestLog,
    reader_requests,
    template,
    value_resource,
    yaql,
)
from tests.cloud.conftest import DeployService
from tests.cloud.testbed import CloudTestbed, DeployedService

Json = Any
NAME = "attack"
ENDLESS = ("sequence().len()", "[1].cycle().len()", "range(1000000000).len()")
SLOW = (
    "generate(1,true,$+1).len()",
    "range(3000).select(range(3000).select($).len()).len()",
)
WITHOUT_VALUE = ("pow(10,6000)", "shiftBitsLeft(1,65000)", "'\\ud800'")
FOUND_LATE = {
    "1 endless": "range(1000000000 + $.data).len()",
    "5 long integer": "pow(10, 6000 * $.data)",
}
"""Expressions that only an engine can evaluate, since they need an attribute."""
MALFORMED = {
    "decimal integer": "9" * 5000,
    "hexadecimal integer": "0x" + "f" * 5000,
    "base-60 float": f"1{':59' * 400}.5",
    "base-60 integer": f"1{':59' * 170_000}",
}


@pytest.fixture(scope="module")
def service(deploy: DeployService) -> DeployedService:
    return deploy()


@pytest.fixture
def attacker(cloud_testbed: CloudTestbed, service: DeployedService) -> RequestLog:
    return RequestLog(service, cloud_testbed.identity_client("alt_demo").session)


@pytest.fixture
def other_tenant(cloud_testbed: CloudTestbed, service: DeployedService) -> RequestLog:
    return RequestLog(service, cloud_testbed.identity_client("demo").session)


@pytest.fixture
def reader(cloud_testbed: CloudTestbed, service: DeployedService) -> Iterator[RequestLog]:
    with reader_requests(cloud_testbed, service) as log:
        yield log


# -- 1: an expression that does not end


@pytest.mark.parametrize("expression", [*ENDLESS, *SLOW])
@pytest.mark.parametrize(("path", "status"), [("/stacks/preview", 400), ("/validate", 200)])
def test_endless_expression_is_ended(
    attacker: RequestLog, path: str, status: int, expression: str
) -> None:
    """``/validate`` does not check the results of functions, but evaluates them.

    The answer is 503 where the machine is too busy for the processor time of the expression.
    """
    answer = attacker.send(f"1 {expression}", "POST", path, _preview_body(expression))
    assert answer.status_code in (status, 503), answer.text


def test_endless_expressions_do_not_delay_another_tenant(
    attacker: RequestLog, other_tenant: RequestLog
) -> None:
    """Print how long another tenant's requests take; all must be answered."""
    body = _preview_body(ENDLESS[0])
    other_tenant.send("1 another tenant before", "POST", "/stacks/preview", _preview_body("1 + 1"))
    with ThreadPoolExecutor(6) as pool:
        sent = [
            pool.submit(attacker.send, "1 at once", "POST", "/stacks/preview", body)
            for _ in range(6)
        ]
        for _ in range(3):
            other_tenant.send("1 another tenant", "GET", "/stacks")
            answer = other_tenant.send(
                "1 another tenant", "POST", "/stacks/preview", _preview_body("1 + 1")
            )
            assert answer.status_code == 200, answer.text
    assert {each.result().status_code for each in sent} <= {400, 503}


def _preview_body(expression: str) -> Json:
    return {"stack_name": NAME, "template": template({"r": value_resource(yaql(expression))})}


def test_endless_expression_of_a_reader_is_refused(reader: RequestLog) -> None:
    body = _preview_body(ENDLESS[0])
    answer = reader.send(f"1 reader {ENDLESS[0]}", "POST", "/stacks/preview", body)
    assert answer.status_code in (400, 503), answer.text


def test_multiplying_repeat_is_refused(attacker: RequestLog) -> None:
    names = [str(number) for number in range(2000)]
    repeat = {"repeat": {"template": "%a%%b%", "for_each": {"%a%": names, "%b%": names}}}
    body = {"stack_name": NAME, "template": template({"r": value_resource(repeat)})}
    assert attacker.send("1 repeat", "POST", "/stacks/preview", body).status_code == 400


@pytest.mark.parametrize("label", FOUND_LATE)
def test_expression_of_a_property_fails_its_resource(
    other_tenant: RequestLog, attacker: RequestLog, label: str
) -> None:
    """The requests of another tenant are answered meanwhile, and the output when it is read."""
    call = yaql(FOUND_LATE[label], {"get_attr": ["a", "value"]})
    resources = {"a": value_resource(1), "b": value_resource(call)}
    body = {"stack_name": NAME, "template": template(resources, outputs={"o": {"value": call}})}
    try:
        assert attacker.send(label, "POST", "/stacks", body).status_code == 201
        for _ in range(3):
            other_tenant.send(f"{label}, another tenant", "GET", "/stacks")
        assert attacker.wait_until_done(NAME)[0] == "CREATE_FAILED"
        shown = attacker.send(f"{label}, stack", "GET", f"/stacks/{NAME}").json()["stack"]
        path = f"/stacks/{NAME}/{shown['id']}/outputs/o"
        (output,) = shown["outputs"]
        single = attacker.send(f"{label}, output", "GET", path).json()["output"]
        assert output["output_error"]
        assert single["output_error"]
    finally:
        attacker.delete(NAME)


def test_stack_is_deleted_while_its_expression_is_evaluated(attacker: RequestLog) -> None:
    call = yaql(FOUND_LATE["1 endless"], {"get_attr": ["a", "value"]})
    resources = {"a": value_resource(1), "b": value_resource(call)}
    body = {"stack_name": NAME, "template": template(resources)}
    assert attacker.send("1 endless", "POST", "/stacks", body).status_code == 201
    attacker.delete(NAME)


# -- 5: templates that made the service answer 500


@pytest.mark.parametrize("name", MALFORMED)
@pytest.mark.parametrize("path", ["/stacks/preview", "/validate"])
def test_malformed_number_is_refused(attacker: RequestLog, path: str, name: str) -> None:
    text = (
        "heat_template_version: 2018-08-31\nparameters:\n"
        f"  p: {{type: string, default: {MALFORMED[name]}}}\n"
    )
    answer = attacker.send(f"5 {name}", "POST", path, {"stack_name": NAME, "template": text})
    assert answer.status_code == 400, answer.text[:300]


@pytest.mark.parametrize("expression", WITHOUT_VALUE)
def test_expression_without_a_usable_value_is_refused(
    attacker: RequestLog, expression: str
) -> None:
    body = _preview_body(expression)
    answer = attacker.send(f"5 {expression}", "POST", "/stacks/preview", body)
    assert answer.status_code == 400, answer.text


def test_empty_path_of_an_attribute_is_refused(attacker: RequestLog) -> None:
    resources = {"a": value_resource(1), "b": value_resource({"get_attr": ["a", []]})}
    body = {"stack_name": NAME, "template": template(resources)}
    answer = attacker.send("5 get_attr: [a, []]", "POST", "/stacks/preview", body)
    assert answer.status_code == 400


# -- 7: URLs and headers


@pytest.mark.parametrize("host", ["[::127.0.0.1]", "[::ffff:127.0.0.1]", "2130706433"])
def test_template_is_not_fetched_from_loopback(attacker: RequestLog, host: str) -> None:
    body = {"stack_name": NAME, "template_url": f"http://{host}:5000/v3"}
    answer = attacker.send(f"7 template_url {host}", "POST", "/stacks/preview", body)
    assert answer.status_code == 400, answer.text


def test_malformed_host_is_refused(attacker: RequestLog) -> None:
    answer = attacker.send("7 Host", "GET", "/stacks", Host="evil.example/<script>")
    assert answer.status_code == 400, answer.text
    assert "evil.example" not in answer.text
