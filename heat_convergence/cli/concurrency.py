"""Greenthreads or native threads: the one place that chooses and patches.

Called by ``launch`` before anything else of this service is imported; whatever
was imported earlier would keep its native locks and sockets.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Sequence
from importlib import import_module

from oslo_config import cfg

from heat_convergence.conf import service

PROJECT_NAME = "heat-convergence"
EVENTLET = "eventlet"
THREADING = "threading"


def configured_backend(arguments: Sequence[str], *, prog: str) -> str:
    """The ``concurrency`` option of the configuration files that the command line names."""
    parser = argparse.ArgumentParser(add_help=False, allow_abbrev=False)
    parser.add_argument("--config-file", action="append")
    parser.add_argument("--config-dir", action="append")
    found, _ = parser.parse_known_args(arguments)
    conf = cfg.ConfigOpts()
    conf.register_opt(service.CONCURRENCY_OPT)
    conf(
        [],
        project=PROJECT_NAME,
        prog=prog,
        default_config_files=found.config_file,
        default_config_dirs=found.config_dir,
    )
    return str(conf.concurrency)


def set_up_backend(backend: str) -> None:
    """Make this process run on ``backend``; cannot be taken back."""
    # Every daemon would begin with the library's advice not to start with it today.
    warnings.filterwarnings("ignore", message=r"\s*Eventlet is deprecated")
    if backend == EVENTLET:
        import_module("eventlet").monkey_patch(psycopg=False)
    # Only now: the module decides at import what its services are built on.
    oslo_backend = import_module("oslo_service.backend")
    oslo_backend.init_backend(oslo_backend.BackendType(backend))


def set_up_database_driver(backend: str, database_url: str | None) -> None:
    """Have the database's driver wait as ``backend`` does.  Others are left unloaded."""
    if backend == EVENTLET and (database_url or "").startswith("postgresql"):
        # Its C library does its own socket calls, which no other patch reaches.
        import_module("eventlet").monkey_patch(psycopg=True)
