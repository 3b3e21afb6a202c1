"""A service in processes of its own that fuzzed requests are sent to by HTTP."""

from __future__ import annotations

import http.client
import json
import socket
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any
from urllib.parse import quote

from heat_convergence.testing.daemon_processes import ServiceDeployment, wait_until
from tests.fuzz.fuzzed_service import FuzzedService

Json = Any
_TIMEOUT_S = 60.0
_OPTIONS = {"DEFAULT": {"enable_stack_adopt": True, "enable_stack_abandon": True}}


class RemoteAnswer:
    """The answer to a request that makes an object."""

    def __init__(self, body: bytes) -> None:
        self.json = json.loads(body)


class RemoteService:
    """The API of a standalone service; ``app`` sends what a WSGI server would receive."""

    def __init__(self, folder: Path) -> None:
        self.deployment = ServiceDeployment(
            folder,
            database_url=f"sqlite:///{folder}/stacks.sqlite",
            transport_url="fake:/",
            options=_OPTIONS,
        ).start_standalone()

    def send(self, method: str, path: str, body: Json = None, *, project: str) -> RemoteAnswer:
        """Send a well-formed request; return when the stacks of its project are done."""
        environ = {
            "REQUEST_METHOD": method, "PATH_INFO": f"/v1/{project}{path}", "QUERY_STRING": "",
            "HTTP_HOST": "localhost", "CONTENT_TYPE": "application/json",
        }  # fmt: skip
        content = b"" if body is None else json.dumps(body).encode()
        answer = RemoteAnswer(b"".join(self._exchange(environ, content, _ignore)))
        if path == "/stacks" and method == "POST":
            wait_until(lambda: self._is_done(project), "the stack is created")
        return answer

    def _is_done(self, project: str) -> bool:
        stacks = self.send("GET", "/stacks", project=project).json["stacks"]
        return all(each["stack_status"].endswith("_COMPLETE") for each in stacks)

    def app(self, environ: dict[str, Any], start: Callable[..., Any]) -> Iterable[bytes]:
        """Send the request of a WSGI environment."""
        return self._exchange(environ, environ["wsgi.input"].read(), start)

    def _exchange(
        self, environ: dict[str, Any], body: bytes, start: Callable[..., Any]
    ) -> Iterable[bytes]:
        address = ("127.0.0.1", self.deployment.port)
        with socket.create_connection(address, _TIMEOUT_S) as connection:
            try:
                connection.sendall(_head(environ, len(body)) + body)
                with suppress(OSError):  # the service has answered and closed the connection
                    connection.shutdown(socket.SHUT_WR)  # a length may promise more than there is
                response = http.client.HTTPResponse(connection, method=environ["REQUEST_METHOD"])
                response.begin()
                content = response.read()
            except (http.client.HTTPException, ConnectionError):
                start("400 connection closed", [])  # what is no HTTP request has no answer
                return [b""]
        start(f"{response.status} {response.reason}", [])
        return [content]

    def close(self) -> None:
        """End the service."""
        self.deployment.close()


def _head(environ: dict[str, Any], length: int) -> bytes:
    """Return the request line and the headers, as odd as they are."""
    path = quote(environ["PATH_INFO"].encode("latin-1", "replace"))
    query = quote(environ["QUERY_STRING"], safe="=&%+/:,;")
    lines = [f"{environ['REQUEST_METHOD']} {path}?{query} HTTP/1.1", "Connection: close"]
    headers = {"CONTENT_LENGTH": str(length)} | environ
    for name, value in headers.items():
        if name.startswith("HTTP_") or name in {"CONTENT_TYPE", "CONTENT_LENGTH"}:
            lines.append(f"{name.removeprefix('HTTP_').replace('_', '-')}: {value}")
    return "\r\n".join([*lines, "", ""]).encode("latin-1", "replace")


class RemoteFuzzedService(FuzzedService):
    """The objects of the present block in a service that runs in other processes."""

    def __init__(self, folder: Path) -> None:
        self.remote = RemoteService(folder)
        super().__init__(folder, self.remote)

    @property
    def port(self) -> int:
        """The port of the API."""
        return self.remote.deployment.port

    @property
    def process_id(self) -> int:
        """The process of the service."""
        return self.remote.deployment.daemons[0].pid

    def _quarantine(self, resource_id: str) -> None:
        """Quarantine nothing: the other processes own the database."""

    def end_block(self, number: int) -> None:
        """Keep what the block has made: its project is no other block's."""


def _ignore(_line: str, _headers: Json) -> None:
    """Ignore the status of an answer."""
