"""The folder in which the processes of a daemon keep their metrics.

Called by ``main`` before anything imports the client library, which decides at its import
whether values are shared between processes. Each process has files of its own in the folder;
whichever process is asked adds them up.
"""

from __future__ import annotations

import errno
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

FOLDER_VARIABLE = "PROMETHEUS_MULTIPROC_DIR"
MIN_FREE_BYTES = 64 * 2**20
"""Free space below which no folder is made: a process that writes to a mapped file on a full file
system is killed."""
_PREFIX = "heat-convergence-metrics"


@contextmanager
def metrics_folder() -> Iterator[None]:
    """Make the folder of this daemon, and remove it at the end of its parent process.

    Without a folder, or without space for it, the daemon works, and each of its processes has
    metrics of its own.
    """
    base = Path(os.environ.get("RUNTIME_DIRECTORY", "").split(":")[0] or _memory_folder())
    prefix = f"{_PREFIX}-{os.geteuid()}-"
    _remove_abandoned(base, prefix)
    parent_id = os.getpid()
    folder = base / f"{prefix}{parent_id}"
    try:
        if shutil.disk_usage(base).free < MIN_FREE_BYTES:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(base))
        folder.mkdir(mode=0o700)
    except OSError:
        os.environ.pop(FOLDER_VARIABLE, None)
    else:
        os.environ[FOLDER_VARIABLE] = str(folder)
    try:
        yield
    finally:
        if os.getpid() == parent_id:  # a worker, which is a fork of the parent, may end here, too
            shutil.rmtree(folder, ignore_errors=True)


def _memory_folder() -> str:
    return "/dev/shm" if Path("/dev/shm").is_dir() else tempfile.gettempdir()  # nosec B108


def _remove_abandoned(base: Path, prefix: str) -> None:
    """Remove the folders of daemons that were killed."""
    for folder in base.glob(f"{prefix}*"):
        parent_id = folder.name.removeprefix(prefix)
        if parent_id.isdigit() and not Path(f"/proc/{parent_id}").exists():
            shutil.rmtree(folder, ignore_errors=True)
