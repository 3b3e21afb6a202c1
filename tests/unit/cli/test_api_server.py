"""The HTTP server of the API daemon: its socket, its limits and who may reach it."""

from __future__ import annotations

import resource
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from heat_convergence.cli.daemons import api_daemon
from heat_convergence.cli.daemons.http_limits import allowed_connections
from heat_convergence.cli.daemons.threaded_server import create_listener, is_loopback
from heat_convergence.cli.startup.startup_state import StartupProblem


@pytest.fixture
def listener() -> Iterator[socket.socket]:
    listener = create_listener("127.0.0.1", 0, backlog=8)
    yield listener
    listener.close()


def test_port_in_use_raises_at_once(listener: socket.socket) -> None:
    with pytest.raises(OSError, match="in use"):
        create_listener("127.0.0.1", listener.getsockname()[1], backlog=1)


@pytest.mark.parametrize(
    ("host", "expected"),
    [
        ("127.0.0.1", True),
        ("127.8.0.1", True),
        ("::1", True),
        ("localhost", True),
        ("0.0.0.0", False),
        ("::", False),
        ("192.0.2.1", False),
        ("no.such.host.invalid", False),
    ],
)
def test_is_loopback(host: str, expected: bool) -> None:
    assert is_loopback(host) is expected


def test_noauth_requires_a_loopback_address(tmp_path: Path) -> None:
    options = tmp_path / "open.conf"
    options.write_text("[heat_api]\nauth_strategy = noauth\nbind_host = 0.0.0.0\n")
    with pytest.raises(StartupProblem, match="bind_host must be a loopback address"):
        api_daemon.run_api(["--config-file", str(options)])


def test_connections_are_limited_by_the_open_files(caplog: pytest.LogCaptureFixture) -> None:
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    try:
        allowed = allowed_connections(2**40)
        _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        assert 0 < allowed < hard
        assert "fewer connections than configured" in caplog.text
        assert allowed_connections(1) == 1
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, before)
