"""Daemons with a mistake in their configuration end with one line and a code."""

from __future__ import annotations

import socket
from collections.abc import Mapping
from typing import Any

import pytest
from sqlalchemy.engine import make_url

from heat_convergence.cli.startup.startup_state import EXIT_CONFIGURATION, EXIT_REFUSED
from heat_convergence.testing.daemon_processes import API, ENGINE, OBSERVER
from tests.integration.conftest import Deploy

Options = Mapping[str, Mapping[str, Any]]


def end_of(deploy: Deploy, url: str, role: str, concurrency: str, options: Options) -> Any:
    """Start a daemon that must end by itself; return its exit code and its log."""
    deployment = deploy(url, concurrency=concurrency)
    deployment.reconfigure({section: dict(values) for section, values in options.items()})
    daemon = deployment.add_daemon(role)
    daemon.start(wait=False)
    code = daemon.wait_for_exit()
    return code, daemon.log.read_text()


@pytest.mark.parametrize(
    ("role", "database", "concurrency"),
    [
        (ENGINE, "mariadb", "threading"),
        (API, "mariadb", "eventlet"),
        (API, "postgresql", "threading"),
        (OBSERVER, "postgresql", "eventlet"),
    ],
)
def test_refused_login_to_the_database(
    role: str, database: str, concurrency: str, deploy: Deploy, request: pytest.FixtureRequest
) -> None:
    url = request.getfixturevalue(f"{database}_url")
    wrong = make_url(url).set(username="nobody", password="wrong-password", database="none")
    connection = wrong.render_as_string(hide_password=False)
    code, log = end_of(deploy, url, role, concurrency, {"database": {"connection": connection}})
    assert code == EXIT_REFUSED, log
    assert log.count("not started: [database] connection: the database refuses") == 1
    assert "Traceback" not in log
    assert "wrong-password" not in log


@pytest.mark.parametrize("concurrency", ["eventlet", "threading"])
def test_refused_login_to_the_broker(
    concurrency: str, deploy: Deploy, mariadb_url: str, rabbit_url: str
) -> None:
    unknown = make_url(rabbit_url).set(database="no-such-host")
    transport_url = unknown.render_as_string(hide_password=False)
    options = {"DEFAULT": {"transport_url": transport_url}}
    code, log = end_of(deploy, mariadb_url, ENGINE, concurrency, options)
    assert code == EXIT_REFUSED, log
    assert log.count("not started: [DEFAULT] transport_url: the broker refuses") == 1
    assert "Traceback" not in log


@pytest.mark.parametrize(
    ("options", "line", "code"),
    [
        ({"DEFAULT": {"auth_encryption_key": ""}}, "auth_encryption_key", EXIT_CONFIGURATION),
        ({"heat_api": {"threads": "many"}}, "threads", EXIT_CONFIGURATION),
        ({"heat_api": {"bind_host": "0.0.0.0"}}, "loopback", EXIT_CONFIGURATION),
    ],
)
def test_mistake_in_the_file(
    options: Options, line: str, code: int, deploy: Deploy, mariadb_url: str
) -> None:
    found, log = end_of(deploy, mariadb_url, API, "threading", options)
    assert found == code, log
    assert len([text for text in log.splitlines() if "not started" in text and line in text]) == 1
    assert "Traceback" not in log


def test_port_in_use(deploy: Deploy, mariadb_url: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        code, log = end_of(
            deploy, mariadb_url, API, "threading", {"heat_api": {"bind_port": port}}
        )
    assert code == EXIT_REFUSED, log
    assert f"cannot listen at port {port} of 127.0.0.1: Address already in use" in log
    assert "Traceback" not in log
