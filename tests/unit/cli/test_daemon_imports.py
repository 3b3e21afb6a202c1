"""Modules that a daemon imports: none that it does not need."""

from __future__ import annotations

import subprocess
import sys
from functools import cache

import pytest

pytestmark = pytest.mark.processes

_PRINT_MODULES = """
import sys
sys.modules["osprofiler"] = None  # an extra; with it keystoneauth1 loads webob
from heat_convergence.cli import concurrency
concurrency.set_up_backend("eventlet")
import heat_convergence.cli.{}
concurrency.set_up_database_driver("eventlet", {!r})
if "psycopg2" in sys.modules:
    assert sys.modules["psycopg2.extensions"].get_wait_callback()
print(*sys.modules)
"""
_MARIADB, _POSTGRESQL = "mysql+pymysql://u:p@db/heat", "postgresql+psycopg2://u:p@db/heat"
_WEB = {"pecan", "keystonemiddleware", "waitress", "webob"}


@cache
def loaded(module: str, database_url: str = _MARIADB) -> frozenset[str]:
    command = [sys.executable, "-W", "ignore", "-c", _PRINT_MODULES.format(module, database_url)]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    return frozenset(done.stdout.split())


@pytest.mark.parametrize(
    ("module", "serves"), [("daemons.daemon_service", False), ("daemons.api_daemon", True)]
)
def test_only_the_api_loads_the_web_framework(module: str, serves: bool) -> None:
    """Engines and observers serve no web pages."""
    found = loaded(module)
    assert (found >= _WEB) is serves
    assert serves or not _WEB & found


@pytest.mark.parametrize("module", ["daemons.daemon_service", "daemons.api_daemon"])
def test_drivers_of_other_databases_are_not_loaded(module: str) -> None:
    found = loaded(module)
    assert "sqlalchemy" in found
    assert not {"psycopg2", "sqlalchemy.dialects.postgresql", "sqlalchemy.dialects.sqlite"} & found
    assert "alembic" not in found


def test_postgresql_driver_waits_on_greenthreads() -> None:
    assert "psycopg2" in loaded("daemons.daemon_service", _POSTGRESQL)
