"""The API as a WSGI application behind waitress, as docs/operate/connections.rst describes it."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import urllib3

from heat_convergence.testing.daemon_processes import ServiceDeployment, wait_until

ENTRY, CFN_ENTRY = "heat_convergence.cli.wsgi", "heat_convergence.cli.wsgi_cfn"


@pytest.fixture
def deployment(tmp_path: Path) -> ServiceDeployment:
    url = f"sqlite:///{tmp_path}/hc.sqlite"
    deployment = ServiceDeployment(
        tmp_path, database_url=url, transport_url="fake://", concurrency="threading"
    )
    deployment.upgrade_database()
    return deployment


def environment(config: Path) -> dict[str, str]:
    return {**os.environ, "OS_HEAT_CONVERGENCE_CONFIG": str(config)}


@contextmanager
def serve(deployment: ServiceDeployment, entry: str, path: str) -> Iterator[int]:
    """Serve an application until the end of the context; ``path`` is one that it answers."""
    listen = f"--listen=127.0.0.1:{deployment.port}"
    process = subprocess.Popen(
        [sys.executable, "-m", "waitress", listen, f"{entry}:application"],
        env=environment(deployment.config),
    )
    try:
        wait_until(lambda: status_of(deployment.port, path) == 200, "the application answers")
        yield deployment.port
    finally:
        process.send_signal(signal.SIGKILL)
        process.wait()


@pytest.fixture
def port(deployment: ServiceDeployment) -> Iterator[int]:
    with serve(deployment, ENTRY, "/v1/p/stacks") as port:
        yield port


def status_of(port: int, path: str = "/v1/p/stacks") -> int | None:
    try:
        return urllib3.request("GET", f"http://127.0.0.1:{port}{path}", retries=False).status
    except urllib3.exceptions.HTTPError:
        return None


def test_application_answers_and_bad_requests_are_refused(port: int) -> None:
    head = b"POST /v1/p/stacks HTTP/1.1\r\nHost: x\r\n"
    for rest in (b"Content-Length: -1\r\n\r\n", b"Content-Length: 3\r\n\r\n{{{", b"x\r\n\r\n"):
        with socket.create_connection(("127.0.0.1", port), timeout=60) as connection:
            connection.sendall(head + rest)
            assert connection.recv(65536).split()[1] == b"400"
    assert status_of(port) == 200


def test_cloudformation_application_answers(deployment: ServiceDeployment) -> None:
    signature = "AWSAccessKeyId=p&SignatureVersion=2&SignatureMethod=HmacSHA256&Signature=x"
    with serve(deployment, CFN_ENTRY, f"/v1/?Action=ListStacks&{signature}") as port:
        assert status_of(port, "/v1/?Action=ListStacks") == 400


@pytest.mark.parametrize("entry", [ENTRY, CFN_ENTRY])
def test_mistake_in_the_configuration_ends_the_start_with_one_line(
    tmp_path: Path, entry: str
) -> None:
    config = tmp_path / "broken.conf"
    config.write_text("[heat_api]\nbind_port = seven\n")
    run = subprocess.run(
        [sys.executable, "-c", f"import {entry}"],
        env=environment(config),
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode != 0
    assert "not started: " in run.stderr
    assert "Traceback" not in run.stderr
