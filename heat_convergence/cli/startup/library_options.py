"""Checks of options of libraries: the plug-ins that they name, and those without an effect.

Made when a daemon starts. A plug-in that is missing would end each worker with a traceback, or
be left out. They must load no plug-in that connects to anything.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from importlib.metadata import entry_points

from keystoneauth1 import loading
from keystoneauth1.exceptions import NoMatchingPlugin
from oslo_config import cfg
from oslo_db import options as db_options

from heat_convergence.rpc import transport

_AUTH_GROUPS = ("keystone_authtoken", "trustee")
_NOTIFICATION_DRIVERS = "oslo.messaging.notify.drivers"  # of entry points
_ONE_CONNECTION = "every statement uses [database] connection"
_WAITING = "daemons wait until the database answers"
_REPEATED = "every transaction is repeated after an outage"
OPTIONS_WITHOUT_EFFECT = {
    "slave_connection": _ONE_CONNECTION,
    "asyncio_connection": _ONE_CONNECTION,
    "asyncio_slave_connection": _ONE_CONNECTION,
    "synchronous_reader": _ONE_CONNECTION,
    "max_retries": _WAITING,
    "retry_interval": _WAITING,
    "use_db_reconnect": _REPEATED,
    "db_retry_interval": _REPEATED,
    "db_inc_retry_interval": _REPEATED,
    "db_max_retry_interval": _REPEATED,
    "db_max_retries": _REPEATED,
}
"""Options of oslo.db that the service does not use, with what it does instead."""


def find_plugin_problems(conf: cfg.ConfigOpts) -> Iterator[str]:
    """Yield a sentence for each plug-in of a library that is named and cannot be loaded."""
    if conf.heat_api.auth_strategy == "keystone":
        for group in _AUTH_GROUPS:
            yield from _auth_problems(conf, group)
        yield from _token_cache_problems(conf)
    yield from _notification_problems(conf)


def find_options_without_effect(conf: cfg.ConfigOpts) -> list[str]:
    """Return a sentence for each option of oslo.db that is set and has no effect."""
    conf.register_opts(db_options.database_opts, group="database")
    return [
        f"[database] {name} has no effect: {instead}"
        for name, instead in OPTIONS_WITHOUT_EFFECT.items()
        if name in conf.database and _is_set(conf, name)
    ]


def _is_set(conf: cfg.ConfigOpts, name: str) -> bool:
    found = conf.get_location(name, "database")
    return found is not None and found.location is cfg.Locations.user


def _auth_problems(conf: cfg.ConfigOpts, group: str) -> Iterator[str]:
    loading.register_auth_conf_options(conf, group)
    section = conf[group].auth_section or group
    if section != group:
        loading.register_auth_conf_options(conf, section)
    name = conf[section].auth_type
    if not name:
        return
    try:
        available = loading.get_plugin_loader(name).available
    except NoMatchingPlugin:
        yield f"[{section}] auth_type: no plug-in {name} is installed"
    else:
        if not available:
            yield (
                f"[{section}] auth_type = {name} needs Python modules that are not installed:"
                f" pip install 'keystoneauth1[{name.removeprefix('v3')}]'"
            )


def _token_cache_problems(conf: cfg.ConfigOpts) -> Iterator[str]:
    options = conf.keystone_authtoken
    if "memcache_security_strategy" not in options:
        return  # only the API validates tokens
    strategy = (options.memcache_security_strategy or "None").upper()
    if strategy != "NONE" and not options.memcache_secret_key:
        yield (
            f"[keystone_authtoken] memcache_security_strategy = {strategy} needs"
            " memcache_secret_key"
        )


@cache
def _notification_drivers() -> frozenset[str]:
    """Return the installed drivers; reading them takes longer than all other checks."""
    return frozenset(entry_points(group=_NOTIFICATION_DRIVERS).names)


def _notification_problems(conf: cfg.ConfigOpts) -> Iterator[str]:
    transport.register_notification_options(conf)
    installed = _notification_drivers()
    for name in conf.oslo_messaging_notifications.driver:
        if name not in installed:
            yield (
                f"[oslo_messaging_notifications] driver = {name} is not installed:"
                f" choose among {', '.join(sorted(installed))}"
            )
