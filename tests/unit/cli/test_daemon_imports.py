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
concurrency.set_up_backend({2!r})
import heat_convergence.cli.{0}
concurrency.set_up_database_driver({2!r}, {1!r})
if "psycopg2" in sys.modules:
    assert sys.modules["psycopg2.extensions"].get_wait_callback()
from heat_convergence.resources.registry import ResourceTypeRegistry
types = ResourceTypeRegistry.load()
print(*sys.modules)
assert types.get("OS::Nova::Server").spec.rest_resource.path_template == "/servers"
assert "openstack" in sys.modules
"""
_MARIADB, _POSTGRESQL = "mysql+pymysql://u:p@db/heat", "postgresql+psycopg2://u:p@db/heat"
_WEB = {"pecan", "keystonemiddleware", "waitress", "webob"}
_FOR_SOME_TEMPLATES = {"openstack", "regex", "yaql"}  # loaded when one first needs them


@cache
def loaded(module: str, database_url: str = _MARIADB, backend: str = "eventlet") -> frozenset[str]:
    script = _PRINT_MODULES.format(module, database_url, backend)
    command = [sys.executable, "-W", "ignore", "-c", script]
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


@pytest.mark.parametrize("module", ["daemons.daemon_service", "daemons.api_daemon"])
def test_libraries_that_only_some_templates_need_are_not_loaded(module: str) -> None:
    found = loaded(module)
    assert "heat_convergence.resources.openstack.nova.servers" in found
    assert not _FOR_SOME_TEMPLATES & found


@pytest.mark.parametrize("backend", ["eventlet", "threading"])
def test_resolver_of_eventlet_is_not_loaded(backend: str) -> None:
    """Libraries import eventlet on native threads, too."""
    found = loaded("daemons.daemon_service", backend=backend)
    assert "eventlet" in found
    assert "dns" not in found
    assert not _FOR_SOME_TEMPLATES & found


def test_postgresql_driver_waits_on_greenthreads() -> None:
    assert "psycopg2" in loaded("daemons.daemon_service", _POSTGRESQL)
