"""Connections to MariaDB share a TLS context, and are encrypted as the first one was."""

from __future__ import annotations

import ssl
from collections.abc import Iterator
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any

import pytest

from heat_convergence.db.encryption import AsTheFirst


class Lost(Exception):
    """The driver's ``OperationalError``."""


class Driver:
    """A dialect, its driver and the server, which encrypts where both can."""

    loaded_dbapi = SimpleNamespace(OperationalError=Lost)

    def __init__(self, cipher: str) -> None:
        self.cipher = cipher
        self.up = True
        self.asked: list[dict[str, Any]] = []

    def connect(self, **parameters: Any) -> Any:
        self.asked.append(parameters)
        if not self.up:
            raise Lost
        if "ssl" in parameters and not self.cipher:
            raise Lost
        return self

    @contextmanager
    def cursor(self) -> Iterator[Any]:
        row = ("Ssl_cipher", self.cipher)
        yield SimpleNamespace(execute=lambda _statement: 1, fetchone=lambda: row)


def connect(way: AsTheFirst, driver: Driver, **parameters: Any) -> Any:
    return way.connect(driver, None, [], {"host": "db", **parameters})


def test_where_the_server_encrypts_there_is_one_context():
    way, driver = AsTheFirst(), Driver("TLS_AES_256_GCM_SHA384")
    assert [connect(way, driver) for _ in range(4)] == [driver] * 4
    first, *later = driver.asked
    assert first == {"host": "db"}
    (context,) = {asked["ssl"] for asked in later}
    assert len(later) == 3
    assert context.verify_mode is ssl.CERT_NONE
    assert context.cert_store_stats()["x509_ca"] == 0


def test_where_it_does_not_there_is_none():
    way, driver = AsTheFirst(), Driver("")
    for _ in range(3):
        connect(way, driver)
    assert driver.asked == [{"host": "db"}, *[{"host": "db", "ssl_disabled": True}] * 2]


@pytest.mark.parametrize(("before", "after"), [("", "AES"), ("AES", "")])
def test_a_server_that_has_become_another_is_asked_again(before: str, after: str):
    way, driver = AsTheFirst(), Driver(before)
    connect(way, driver)
    driver.cipher, driver.up = after, False
    with pytest.raises(Lost):
        connect(way, driver)
    driver.up = True
    connect(way, driver)
    connect(way, driver)
    assert driver.asked[-2] == {"host": "db"}
    assert ("ssl" in driver.asked[-1]) == bool(after)


def test_what_the_operator_chose_is_the_drivers_affair():
    way, driver = AsTheFirst(), Driver("AES")
    assert connect(way, driver, ssl={"ca": "/etc/ssl/database.pem"}) is None
    assert connect(way, driver, read_default_file="/etc/my.cnf") is None
    assert driver.asked == []
