"""Checks of the options of libraries: the Python modules and the other options they need.

Checked when a daemon starts: without the check, the first request or message that needs the
module or the option fails, and so does every one after it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from importlib.util import find_spec

import oslo_messaging
from kombu import compression
from oslo_config import cfg
from sqlalchemy.engine import make_url
from sqlalchemy.exc import ArgumentError

from heat_convergence.rpc import transport

PACKAGE = "heat-convergence"


@dataclass(frozen=True, slots=True)
class RequiredModule:
    """A module that some value of an option needs.

    Attributes:
        option: The option with its group, and its value where that decides.
        module: Name by which Python imports the module.
        requirement: Argument of ``pip install``.
        is_used: Function that returns whether the configuration needs the module.
    """

    option: str
    module: str
    requirement: str
    is_used: Callable[[cfg.ConfigOpts], bool]


def _database_driver(name: str) -> Callable[[cfg.ConfigOpts], bool]:
    def is_used(conf: cfg.ConfigOpts) -> bool:
        try:
            return make_url(conf.database.connection).get_driver_name() == name
        except ArgumentError:
            return False  # ``create_engine`` reports it

    return is_used


def _token_cache(*, binary: bool) -> Callable[[cfg.ConfigOpts], bool]:
    """Return whether keystonemiddleware uses its client for TLS and SASL, or the other one."""

    def is_used(conf: cfg.ConfigOpts) -> bool:
        options = conf.keystone_authtoken
        if conf.heat_api.auth_strategy != "keystone" or not options.memcached_servers:
            return False
        return binary is bool(options.memcache_tls_enabled or options.memcache_sasl_enabled)

    return is_used


def _kafka(conf: cfg.ConfigOpts) -> bool:
    try:
        return "kafka" in transport.configured_drivers(conf)
    except (oslo_messaging.InvalidTransportURL, ValueError):
        return False  # ``create_transport`` reports it


LOGGING_MODULES = (
    RequiredModule(
        "use_journal", "systemd", f"{PACKAGE}[systemd]", lambda conf: bool(conf.use_journal)
    ),
)
DAEMON_MODULES = (
    RequiredModule(
        "[database] connection", "pymysql", f"{PACKAGE}[mysql]", _database_driver("pymysql")
    ),
    RequiredModule(
        "[database] connection", "psycopg2", f"{PACKAGE}[postgresql]", _database_driver("psycopg2")
    ),
    RequiredModule("transport_url", "confluent_kafka", f"{PACKAGE}[kafka]", _kafka),
    RequiredModule(
        "[tracing] backend = opentelemetry",
        "opentelemetry",
        f"{PACKAGE}[otel]",
        lambda conf: conf.tracing.backend == "opentelemetry",
    ),
    RequiredModule(
        "[tracing] backend = osprofiler",
        "osprofiler",
        f"{PACKAGE}[osprofiler]",
        lambda conf: conf.tracing.backend == "osprofiler",
    ),
)
API_MODULES = (
    RequiredModule(
        "[keystone_authtoken] memcached_servers",
        "memcache",
        "python-memcached",
        _token_cache(binary=False),
    ),
    RequiredModule(
        "[keystone_authtoken] memcache_tls_enabled or memcache_sasl_enabled",
        "bmemcached",
        f"{PACKAGE}[memcached]",
        _token_cache(binary=True),
    ),
)


def find_missing(conf: cfg.ConfigOpts, required: Iterable[RequiredModule]) -> list[RequiredModule]:
    """Return the modules that the configuration needs and that are not installed."""
    return [each for each in required if each.is_used(conf) and find_spec(each.module) is None]


def find_contradictions(conf: cfg.ConfigOpts) -> list[str]:
    """Return what the options of oslo.messaging demand of each other and do not get.

    oslo.messaging itself would fail at the first message, and try again for ever.
    """
    transport.register_rabbit_options(conf)
    options = conf.oslo_messaging_rabbit
    if "rabbit" not in transport.configured_drivers(conf):
        return []
    rules = (
        (
            options.enable_cancel_on_failover and options.rabbit_quorum_queue,
            "enable_cancel_on_failover = true needs rabbit_quorum_queue = false",
        ),
        (
            options.rabbit_stream_fanout and not options.rabbit_transient_quorum_queue,
            "rabbit_stream_fanout = true needs rabbit_transient_quorum_queue = true",
        ),
        (
            options.rabbit_stream_fanout and not options.use_queue_manager,
            "rabbit_stream_fanout = true needs use_queue_manager = true",
        ),
        (
            not _is_compression(options.kombu_compression),
            f"kombu_compression = {options.kombu_compression} is unknown, or the Python module"
            " that it needs is not installed",
        ),
    )
    return [f"[oslo_messaging_rabbit] {text}" for is_broken, text in rules if is_broken]


def _is_compression(name: str | None) -> bool:
    try:
        return not name or bool(compression.get_encoder(name))  # type: ignore[no-untyped-call]
    except KeyError:
        return False


def describe_missing(missing: Iterable[RequiredModule]) -> str:
    """Return one line for operators."""
    return "; ".join(
        f"{each.option} needs the Python module {each.module}: pip install '{each.requirement}'"
        for each in missing
    )
