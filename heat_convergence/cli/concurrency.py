"""Greenthreads or native threads: the only module that chooses and patches.

Called by ``main`` before any other module of this service is imported; an earlier import would
keep its native locks and sockets.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Sequence
from importlib import import_module

from oslo_config import cfg

from heat_convergence.cli.startup.config_files import (
    PROJECT_NAME,
    parse_file_arguments,
    unreadable_files_named,
)
from heat_convergence.conf import service

EVENTLET = "eventlet"
THREADING = "threading"
_NO_OWN_RESOLVER = "EVENTLET_NO_GREENDNS"


def configured_backend(arguments: Sequence[str], *, prog: str) -> str:
    """Return the ``concurrency`` option of the configuration files that the arguments name.

    Raises:
        StartupProblem: A file cannot be read.
    """
    found = parse_file_arguments(arguments)
    conf = cfg.ConfigOpts()
    conf.register_opt(service.CONCURRENCY_OPT)
    with unreadable_files_named(arguments, prog):
        conf(
            [],
            project=PROJECT_NAME,
            prog=prog,
            default_config_files=found.config_file,
            default_config_dirs=found.config_dir,
        )
    return str(conf.concurrency)


def set_up_backend(backend: str) -> None:
    """Make this process run on ``backend``, for its lifetime."""
    # Otherwise the log of every daemon begins with the library's deprecation notice.
    warnings.filterwarnings("ignore", message=r"\s*Eventlet is deprecated")
    os.environ[_NO_OWN_RESOLVER] = "yes"  # read when libraries import eventlet, on any backend
    if backend == EVENTLET:
        _set_up_eventlet()
    # Imported after patching: the module chooses its implementation at import.
    oslo_backend = import_module("oslo_service.backend")
    oslo_backend.init_backend(oslo_backend.BackendType(backend))


def _set_up_eventlet() -> None:
    import_module("heat_convergence.cli.name_lookups").look_up_in_native_threads()
    import_module("eventlet").monkey_patch(psycopg=False)


def set_up_database_driver(backend: str, database_url: str | None) -> None:
    """Make the database driver wait on ``backend``.

    Loads only the driver that ``database_url`` names.
    """
    if backend == EVENTLET and (database_url or "").startswith("postgresql"):
        # libpq does its own socket calls, which the other patches do not reach.
        import_module("eventlet").monkey_patch(psycopg=True)
