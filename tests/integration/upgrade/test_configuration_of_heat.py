"""A ``heat.conf`` as DevStack writes it is taken unchanged by all daemons of this service.

A second file has what the change-over asks for: a database and a virtual host of its own, and
addresses that are free beside other tests.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import urllib3

from heat_convergence.testing.daemon_processes import (
    API,
    CFN,
    ENGINE,
    OBSERVER,
    ConfigOptions,
    ServiceDeployment,
    free_port,
    write_config,
)
from tests.integration.harness import drop_all_tables

# Keystone is Apache's there; this port has nobody.
KEYSTONE = "http://127.0.0.1:9/identity"
ESCAPE = "\x1b"
SERVICE_USER = {
    "auth_type": "password",
    "auth_url": KEYSTONE,
    "username": "heat",
    "password": "secret",  # pragma: allowlist secret
}
MIDDLEWARE = {
    **SERVICE_USER,
    "interface": "public",
    "user_domain_name": "Default",
    "project_name": "service",
    "project_domain_name": "Default",
    "cafile": "/opt/stack/data/ca-bundle.pem",
    "memcached_servers": "localhost:11211",
    "service_type": "orchestration",
}
CLIENT = {"ca_file": "/opt/stack/data/ca-bundle.pem"}
HEAT_CONF: dict[str, dict[str, Any]] = {
    "DEFAULT": {
        "transport_url": "rabbit://stackrabbit:secret@127.0.0.1:5672/",
        "heat_metadata_server_url": "http://127.0.0.1/heat-api-cfn",
        "heat_waitcondition_server_url": "http://127.0.0.1/heat-api-cfn/v1/waitcondition",
        "auth_encryption_key": "767c3ed056cbaa3b9dfedb8c6f825bf0",  # pragma: allowlist secret
        "region_name_for_services": "RegionOne",
        "debug": True,
        "num_engine_workers": 2,
        "logging_debug_format_suffix": f"{ESCAPE}[00;33m{{{{(pid=%(process)d) %(funcName)s"
        f" %(pathname)s:%(lineno)d}}}}{ESCAPE}[00m",
        "logging_default_format_string": "%(color)s%(levelname)s %(name)s [-%(color)s]"
        f" {ESCAPE}[01;35m%(instance)s%(color)s%(message)s{ESCAPE}[00m",
        "logging_context_format_string": "%(color)s%(levelname)s %(name)s"
        f" [{ESCAPE}[01;36m%(global_request_id)s %(request_id)s {ESCAPE}[00;36m%(project_name)s"
        f" %(user_name)s%(color)s] {ESCAPE}[01;35m%(instance)s%(color)s%(message)s{ESCAPE}[00m",
        "logging_exception_prefix": f"ERROR %(name)s {ESCAPE}[01;35m%(instance)s{ESCAPE}[00m",
        "plugin_dirs": "/opt/stack/data/heat/plugins",
        "stack_user_domain_id": "65a46ab9f7a0449c8a66d4a7a9a37a02",  # pragma: allowlist secret
        "stack_domain_admin": "heat_domain_admin",
        "stack_domain_admin_password": "secret",  # pragma: allowlist secret
    },
    "database": {
        "connection": "mysql+pymysql://root:secret@127.0.0.1/heat?charset=utf8&plugin=dbcounter"
    },
    "keystone_authtoken": MIDDLEWARE,
    "ec2authtoken": MIDDLEWARE,
    "trustee": {**SERVICE_USER, "user_domain_id": "default"},
    "clients_keystone": {"auth_uri": KEYSTONE, **CLIENT},
    "clients_nova": CLIENT,
    "clients_cinder": CLIENT,
    "clients_neutron": CLIENT,
    "clients_glance": CLIENT,
    "clients_swift": CLIENT,
    "heat_api": {"bind_port": 8004, "workers": 2},
    "heat_api_cfn": {"bind_port": 8000},
    "cache": {"enabled": "True", "backend": "dogpile.cache.memory"},
    "volumes": {"backups_enabled": "false"},
    "oslo_policy": {"enforce_scope": "true", "enforce_new_defaults": "true"},
    "oslo_messaging_rabbit": {"heartbeat_timeout_threshold": 60, "heartbeat_rate": 2},
    "oslo_messaging_notifications": {
        "driver": "messagingv2",
        "transport_url": "rabbit://stackrabbit:secret@127.0.0.1:5672/",
    },
}


@pytest.fixture
def deployment(tmp_path: Path, mariadb_url: str, rabbit_url: str) -> Iterator[ServiceDeployment]:
    drop_all_tables(mariadb_url)
    with ServiceDeployment(
        tmp_path, database_url=mariadb_url, transport_url=rabbit_url
    ) as deployment:
        deployment.upgrade_database()
        yield deployment


def test_all_daemons_take_the_file_of_devstack_unchanged(
    deployment: ServiceDeployment, mariadb_url: str, rabbit_url: str
) -> None:
    ports = {role: free_port() for role in (API, CFN)}
    bind = {"bind_host": "127.0.0.1", "workers": 1}
    own: ConfigOptions = {
        "DEFAULT": {"transport_url": rabbit_url},
        "database": {"connection": mariadb_url},
        "oslo_messaging_notifications": {"transport_url": rabbit_url},
        "metrics": {"api_port": 0, "engine_port": 0, "observer_port": 0},
        "heat_api": {**bind, "bind_port": ports[API]},
        "heat_api_cfn": {**bind, "bind_port": ports[CFN]},
    }
    write_config(deployment.config, HEAT_CONF)
    second = ["--config-file", str(write_config(deployment.directory / "own.conf", own))]
    daemons = [
        deployment.add_daemon(role, arguments=second) for role in (API, CFN, ENGINE, OBSERVER)
    ]
    for daemon in daemons:
        daemon.start(wait=False)
    for daemon in daemons:
        daemon.wait_until_started()
    assert status(ports[API], "/") == 300
    assert status(ports[API], "/v1/p/stacks") == 401
    assert status(ports[CFN], "/v1/?Action=ListStacks") == 400
    assert all(daemon.is_running() for daemon in daemons)
    logs = [daemon.log.read_text() for daemon in daemons]
    assert not any("Traceback" in text for text in logs)
    print([line for line in logs[0].splitlines() if "plugin_dirs" in line])
    assert all("plugin_dirs" in text for text in logs), "the unknown option is named"


def status(port: int, path: str) -> int:
    """Return the status of an anonymous request."""
    return urllib3.request("GET", f"http://127.0.0.1:{port}{path}", retries=False).status
