"""Connections to MariaDB share a TLS context, and are encrypted if the first one was."""

from __future__ import annotations

import ssl
from collections.abc import Iterator
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any

import pytest

from heat_convergence.db.connection.tls import SharedTlsContext


class FakeOperationalError(Exception):
    """The driver's ``OperationalError``."""


class FakeDriver:
    """A dialect, its driver and the server, which encrypts if both can."""

    loaded_dbapi = SimpleNamespace(OperationalError=FakeOperationalError)

    def __init__(self, cipher: str) -> None:
        self.cipher = cipher
        self.up = True
        self.calls: list[dict[str, Any]] = []

    def connect(self, **parameters: Any) -> Any:
        self.calls.append(parameters)
        if not self.up:
            raise FakeOperationalError
        if "ssl" in parameters and not self.cipher:
            raise FakeOperationalError
        return self

    @contextmanager
    def cursor(self) -> Iterator[Any]:
        row = ("Ssl_cipher", self.cipher)
        yield SimpleNamespace(execute=lambda _statement: 1, fetchone=lambda: row)


def connect(shared: SharedTlsContext, driver: FakeDriver, **parameters: Any) -> Any:
    return shared.connect(driver, None, [], {"host": "db", **parameters})


def test_encrypted_connections_share_one_context():
    shared, driver = SharedTlsContext(), FakeDriver("TLS_AES_256_GCM_SHA384")
    assert [connect(shared, driver) for _ in range(4)] == [driver] * 4
    first, *later = driver.calls
    assert first == {"host": "db"}
    (context,) = {parameters["ssl"] for parameters in later}
    assert len(later) == 3
    assert context.verify_mode is ssl.CERT_NONE
    assert context.cert_store_stats()["x509_ca"] == 0


def test_unencrypted_server_gets_no_context():
    shared, driver = SharedTlsContext(), FakeDriver("")
    for _ in range(3):
        connect(shared, driver)
    assert driver.calls == [{"host": "db"}, *[{"host": "db", "ssl_disabled": True}] * 2]


@pytest.mark.parametrize(("before", "after"), [("", "AES"), ("AES", "")])
def test_failed_connection_renegotiates_tls(before: str, after: str):
    shared, driver = SharedTlsContext(), FakeDriver(before)
    connect(shared, driver)
    driver.cipher, driver.up = after, False
    with pytest.raises(FakeOperationalError):
        connect(shared, driver)
    driver.up = True
    connect(shared, driver)
    connect(shared, driver)
    assert driver.calls[-2] == {"host": "db"}
    assert ("ssl" in driver.calls[-1]) == bool(after)


def test_explicit_tls_options_are_left_to_the_driver():
    shared, driver = SharedTlsContext(), FakeDriver("AES")
    assert connect(shared, driver, ssl={"ca": "/etc/ssl/database.pem"}) is None
    assert connect(shared, driver, read_default_file="/etc/my.cnf") is None
    assert driver.calls == []
