"""Checks of the configuration that a daemon's parent makes before it forks.

They connect to nothing. What can heal by itself, such as a database that is down, is waited for
by the workers; what is found here needs an operator.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator

import oslo_messaging
from oslo_config import cfg

from heat_convergence.cli.startup.library_options import (
    find_options_without_effect,
    find_plugin_problems,
)
from heat_convergence.cli.startup.option_names import find_unknown_options
from heat_convergence.cli.startup.required_modules import (
    RequiredModule,
    describe_missing,
    find_contradictions,
    find_missing,
)
from heat_convergence.cli.startup.startup_state import StartupProblem
from heat_convergence.common import errors
from heat_convergence.db.connection.database import create_database
from heat_convergence.rpc.transport import create_transport
from heat_convergence.template.environment.repair_window import check_window

LOG = logging.getLogger(__name__)
RECOMMENDED_KEY_LENGTH = 32


def check_configuration(
    conf: cfg.ConfigOpts, required: Iterable[RequiredModule], *, transport_url: str | None = None
) -> None:
    """Check the options of a daemon, and log warnings about what is odd.

    Args:
        conf: The configuration.
        required: Modules that the daemon's options may need.
        transport_url: URL instead of the option of that name.

    Raises:
        StartupProblem: The daemon cannot work with these options.
    """
    for warning in find_warnings(conf):
        LOG.warning("configuration: %(warning)s", {"warning": warning})
    missing = describe_missing(find_missing(conf, required))
    if missing:
        raise StartupProblem(missing)
    problems = [*find_problems(conf, transport_url=transport_url)]
    if problems:
        raise StartupProblem("; ".join(problems))


def find_warnings(conf: cfg.ConfigOpts) -> list[str]:
    """Return a sentence for each odd line of the configuration."""
    return [
        *find_unknown_options(conf),
        *find_options_without_effect(conf),
        *_weak_keys(conf),
        *_rotations_of_shared_files(conf),
    ]


def find_problems(conf: cfg.ConfigOpts, *, transport_url: str | None = None) -> Iterator[str]:
    """Yield a sentence for each mistake with which no daemon can work.

    Each begins with the option; the remedy follows a colon.
    """
    yield from _key_problems(conf)
    yield from _database_problems(conf)
    yield from _repair_window_problems(conf)
    yield from find_plugin_problems(conf)
    if transport_url is None:
        yield from _transport_problems(conf)


def _key_problems(conf: cfg.ConfigOpts) -> Iterator[str]:
    if not any(conf.auth_encryption_key):
        yield (
            "[DEFAULT] auth_encryption_key is not set: set it to 32 or more random characters,"
            " the same for all daemons"
        )


def _weak_keys(conf: cfg.ConfigOpts) -> Iterator[str]:
    for number, key in enumerate(filter(None, conf.auth_encryption_key), start=1):
        if len(key) < RECOMMENDED_KEY_LENGTH:
            yield (
                f"[DEFAULT] auth_encryption_key number {number} has {len(key)} characters;"
                f" use {RECOMMENDED_KEY_LENGTH} or more random ones: add a longer key before it"
                " and run heat-convergence-manage secrets rotate"
            )


def _rotations_of_shared_files(conf: cfg.ConfigOpts) -> Iterator[str]:
    if conf.log_rotation_type.lower() != "none" and (conf.log_dir or conf.log_file):
        yield (
            f"[DEFAULT] log_rotation_type = {conf.log_rotation_type} loses lines, since the"
            " processes of a daemon share a file: set it to none, and use logrotate"
        )


def _database_problems(conf: cfg.ConfigOpts) -> Iterator[str]:
    try:
        create_database(conf).close()
    except cfg.RequiredOptError:
        yield "[database] connection is not set: set it to the URL of the database"
    except errors.Invalid as error:
        yield str(error)
    except ImportError as error:
        yield (
            f"[database] connection needs the Python module {error.name}: install it, or name"
            " another driver in the URL, such as mysql+pymysql:// or postgresql+psycopg2://"
        )


def _repair_window_problems(conf: cfg.ConfigOpts) -> Iterator[str]:
    drift = conf.drift
    if drift.repair_window:
        problem = check_window(
            drift.repair_window, drift.repair_window_duration, drift.repair_window_timezone
        )
        if problem:
            yield f"[drift] repair_window cannot be used: {problem}"


def _transport_problems(conf: cfg.ConfigOpts) -> Iterator[str]:
    try:
        yield from find_contradictions(conf)
        create_transport(conf).cleanup()
    except (
        oslo_messaging.InvalidTransportURL,
        oslo_messaging.DriverLoadFailure,
        ValueError,
    ) as error:
        yield f"[DEFAULT] transport_url cannot be used: {error}"
