"""Checks of this host: directories of logs and locks, free space, limits of files.

Run by ``doctor``; writes nothing.
"""

from __future__ import annotations

import os
import resource
import shutil
from collections.abc import Iterator
from pathlib import Path

from oslo_config import cfg

from heat_convergence.cli.config import LOG_FILE_OPTIONS
from heat_convergence.cli.diagnosis.finding import Finding, Severity
from heat_convergence.rpc.transport import lock_path

MIN_FREE_BYTES = 256 * 2**20
FILES_PER_CONNECTION = 2


def check_host(conf: cfg.ConfigOpts) -> Iterator[Finding]:
    """Check what the daemons need of this host."""
    for name in LOG_FILE_OPTIONS:
        conf.clear_override(name)  # set where the log file could not be written
    for subject, folder in (("log directory", _log_folder(conf)), ("locks", Path(lock_path()))):
        if folder is not None:
            yield _check_folder(subject, folder)
    needed = conf.heat_api.max_connections * FILES_PER_CONNECTION
    _soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard != resource.RLIM_INFINITY and hard < needed:
        yield Finding(
            "open files",
            Severity.WARNING,
            f"at most {hard} are allowed; {needed} are needed for [heat_api] max_connections",
            "raise LimitNOFILE of the units, or lower max_connections",
        )


def _log_folder(conf: cfg.ConfigOpts) -> Path | None:
    if conf.log_dir:
        return Path(conf.log_dir)
    return Path(conf.log_file).absolute().parent if conf.log_file else None


def _check_folder(subject: str, folder: Path) -> Finding:
    if not folder.is_dir() or not os.access(folder, os.W_OK | os.X_OK):
        return Finding(
            subject,
            Severity.ERROR,
            f"{folder} is not a directory that this user may write to",
            f"create {folder}, owned by the user of the daemons",
        )
    free = shutil.disk_usage(folder).free
    if free < MIN_FREE_BYTES:
        return Finding(
            subject,
            Severity.WARNING,
            f"{folder} has {free // 2**20} MiB left",
            "free space, or rotate the logs",
        )
    return Finding(subject, Severity.OK, f"{folder} can be written to")
