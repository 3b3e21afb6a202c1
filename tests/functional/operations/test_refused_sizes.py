"""Requests that are too large cost no memory and no rows, nor do clients that go away."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from typing import Any

import pytest

from heat_convergence.api.services import ApiOptions
from heat_convergence.cli.daemons.http_limits import MAX_BYTES_IN_MEMORY, HttpLimits
from heat_convergence.testing.statement_counter import StatementCount, count_statements
from tests.functional.harness import LocalService
from tests.functional.http_servers import GREEN, NATIVE, Connection, ServedApplication, error_of

LIMIT_BYTES = 4 * MAX_BYTES_IN_MEMORY
MAX_RESOURCES = 5
CLIENTS = 8
HEAD = b"POST /v1/p/stacks HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
GET = b"GET /v1/p/stacks HTTP/1.1\r\nHost: x\r\n\r\n"
WRITES = ("INSERT", "UPDATE", "DELETE")
VALUE = {"type": "OS::Heat::Value", "properties": {"value": 1}}


class CountedInput:
    """The body of a request, with the number of bytes that the application has read of it."""

    def __init__(self, body: Any) -> None:
        self._body = body
        self.bytes_read = 0

    def read(self, *size: int) -> bytes:
        data: bytes = self._body.read(*size)
        self.bytes_read += len(data)
        return data


class CountingApp:
    """An application that keeps the bodies which it has given to the service."""

    def __init__(self, service: LocalService) -> None:
        self._service = service
        self.bodies: list[CountedInput] = []

    def __call__(self, environ: Any, start_response: Any) -> Any:
        body = CountedInput(environ["wsgi.input"])
        self.bodies.append(body)
        return self._service.app({**environ, "wsgi.input": body}, start_response)


@pytest.fixture
def limited(tmp_path: Any) -> Iterator[LocalService]:
    options = ApiOptions(max_json_body_bytes=LIMIT_BYTES, max_resources_per_stack=MAX_RESOURCES)
    service = LocalService(f"sqlite:///{tmp_path}/hc.sqlite", options)
    yield service
    service.close()


@pytest.fixture
def app(limited: LocalService) -> CountingApp:
    return CountingApp(limited)


@pytest.fixture(params=[NATIVE, GREEN])
def served(app: CountingApp, request: pytest.FixtureRequest) -> Iterator[ServedApplication]:
    served = ServedApplication(
        request.param, app, HttpLimits(threads=2, body_bytes=LIMIT_BYTES, body_timeout_s=30.0)
    )
    yield served
    served.stop()


def assert_refused(connection: Connection, app: CountingApp) -> None:
    status, _, body = connection.receive()
    assert (status, error_of(body)[0]) == (400, "RequestLimitExceeded")
    assert str(LIMIT_BYTES) in error_of(body)[1]
    assert sum(each.bytes_read for each in app.bodies) == 0


def test_too_long_a_body_is_refused_before_it_arrives(
    served: ServedApplication, app: CountingApp
) -> None:
    connection = served.connect()
    connection.send(HEAD + b"Content-Length: %d\r\n\r\n" % (LIMIT_BYTES + 1))
    assert_refused(connection, app)


def test_too_long_a_chunked_body_is_refused_before_its_end(
    served: ServedApplication, app: CountingApp
) -> None:
    connection = served.connect()
    chunk = b"%x\r\n%s\r\n" % (MAX_BYTES_IN_MEMORY, b"x" * MAX_BYTES_IN_MEMORY)
    chunks = chunk * (LIMIT_BYTES // MAX_BYTES_IN_MEMORY) + b"1\r\nx\r\n"
    connection.send(HEAD + b"Transfer-Encoding: chunked\r\n\r\n" + chunks)
    assert_refused(connection, app)


@pytest.mark.parametrize("is_chunked", [False, True])
def test_body_of_the_largest_size_is_read(
    served: ServedApplication, app: CountingApp, is_chunked: bool
) -> None:
    frame = json.dumps({"stack_name": "s", "template": {"heat_template_version": "2018-08-31"}})
    body = frame[:-1].encode() + b" " * (LIMIT_BYTES - len(frame)) + b"}"
    head = b"Content-Length: %d\r\n\r\n" % len(body)
    if is_chunked:
        head, body = b"Transfer-Encoding: chunked\r\n\r\n", b"%x\r\n%s\r\n" % (len(body), body)
        body += b"0\r\n\r\n"
    assert served.ask(HEAD + head + body)[0] == 201
    assert [each.bytes_read for each in app.bodies] == [LIMIT_BYTES]


def test_clients_that_leave_in_the_middle_of_a_body_leave_nothing(
    served: ServedApplication, app: CountingApp, limited: LocalService
) -> None:
    assert served.ask(GET)[0] == 200
    before, requests_before = open_files(), len(app.bodies)
    connections = [served.connect() for _ in range(CLIENTS)]
    for connection in connections:
        connection.send(HEAD + b"Content-Length: %d\r\n\r\n{" % LIMIT_BYTES)
        connection.send(b" " * (LIMIT_BYTES // 2))
    assert served.ask(GET)[0] == 200
    assert open_files() >= before + 2 * CLIENTS  # the sockets of both ends
    for connection in connections:
        connection.close()
    for _ in range(200):  # the server learns of it when it looks at the connections next
        assert served.ask(GET)[0] == 200
        if open_files() <= before:
            break
    assert open_files() <= before
    assert sum(each.bytes_read for each in app.bodies[requests_before:]) == 0
    assert limited.send("GET", "/stacks").json["stacks"] == []


def open_files() -> int:
    return len(os.listdir("/proc/self/fd"))


def writes(count: StatementCount) -> dict[str, int]:
    return {
        words: number
        for words, number in count.by_statement.items()
        if words.upper().startswith(WRITES)
    }


def template(size: int) -> dict[str, Any]:
    return {
        "heat_template_version": "2016-10-14",
        "resources": {f"r{number}": VALUE for number in range(size)},
    }


def group(size: int) -> dict[str, Any]:
    properties = {"count": size, "resource_def": VALUE}
    return {
        "heat_template_version": "2016-10-14",
        "resources": {"g": {"type": "OS::Heat::ResourceGroup", "properties": properties}},
    }


@pytest.mark.parametrize("shape", [template, group], ids=["flat", "nested"])
def test_stack_with_too_many_resources_is_refused_before_anything_is_written(
    limited: LocalService, shape: Any
) -> None:
    body = {"stack_name": "s", "template": shape(MAX_RESOURCES + 1)}
    with count_statements(limited.database.engine) as count:
        refused = limited.send("POST", "/stacks", body)
    assert (refused.status_int, refused.json["error"]["type"]) == (400, "RequestLimitExceeded")
    assert writes(count) == {}


@pytest.mark.parametrize("shape", [template, group], ids=["flat", "nested"])
def test_update_to_too_many_resources_is_refused_before_anything_is_written(
    limited: LocalService, shape: Any
) -> None:
    made = limited.send("POST", "/stacks", {"stack_name": "s", "template": template(1)})
    path = f"/stacks/s/{made.json['stack']['id']}"
    with count_statements(limited.database.engine) as count:
        refused = limited.send("PUT", path, {"template": shape(MAX_RESOURCES + 1)})
    assert refused.json["error"]["type"] == "RequestLimitExceeded"
    assert writes(count) == {}
    assert limited.send("GET", path).json["stack"]["stack_status"] == "CREATE_COMPLETE"
