"""Tokens in memcached, with every kind of client that the options of keystonemiddleware choose."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator
from typing import Any

import pytest
from keystonemiddleware.auth_token import AuthProtocol

from heat_convergence.testing.daemon_processes import free_port, wait_until
from tests.functional.http_servers import accepts_connections

MEMCACHED = shutil.which("memcached")
pytestmark = pytest.mark.skipif(MEMCACHED is None, reason="memcached is not installed")


@pytest.fixture
def address() -> Iterator[str]:
    port = free_port()
    command = [str(MEMCACHED), "-u", "nobody", "-l", "127.0.0.1", "-p", str(port)]
    with subprocess.Popen(command) as process:
        try:
            wait_until(lambda: accepts_connections(port), "memcached accepts connections")
            yield f"127.0.0.1:{port}"
        finally:
            process.terminate()


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"memcache_use_advanced_pool": False},
        {"memcache_security_strategy": "MAC", "memcache_secret_key": "k" * 32},
        {"memcache_security_strategy": "ENCRYPT", "memcache_secret_key": "k" * 32},
        {"memcache_sasl_enabled": True, "memcache_username": "u", "memcache_password": "p"},
    ],
    ids=["default", "simple pool", "MAC", "ENCRYPT", "SASL"],
)
def test_token_is_kept_in_memcached(address: str, options: dict[str, Any]) -> None:
    conf = {"memcached_servers": address, "www_authenticate_uri": "http://keystone", **options}
    cache = AuthProtocol(lambda _environ, _start: [], conf)._token_cache
    cache.initialize({})
    cache.set("a token", {"user": "u"})
    assert cache.get("a token") == {"user": "u"}
