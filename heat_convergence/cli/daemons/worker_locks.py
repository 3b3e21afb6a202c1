"""Files by which the worker processes of a host notice that one of them has ended.

Each worker holds a lock on a file of its own, which the kernel releases when the process ends,
however it does. Whoever gets the lock of another worker's file knows that this worker has ended.
Called by ``workers``; a host without a usable folder relies on leases that expire.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import logging
import os
import stat
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from pathlib import Path

from sqlalchemy.engine import make_url

LOG = logging.getLogger(__name__)
_UNFINISHED = "."  # begins the name of a file that is not locked yet


def locks_folder(base: str, database_url: str) -> Path:
    """Return the folder of the workers of this user that use the same database."""
    url = make_url(database_url).render_as_string(hide_password=True)
    digest = hashlib.sha256(url.encode()).hexdigest()[:16]
    return Path(base) / f"heat-convergence-{os.geteuid()}-{digest}"


@dataclass(frozen=True, slots=True)
class EndedWorker:
    """A worker that has ended: its daemon, and the text that it had kept."""

    binary: str
    text: str


class WorkerLocks:
    """The lock of one worker, and its view of the others.

    Args:
        folder: of the files, one for each worker with the names of its daemon and its id.
        binary: the daemon of this worker.
        worker_id: the id of this worker.
    """

    def __init__(self, folder: Path, binary: str, worker_id: str) -> None:
        self._folder = folder
        self._name = f"{binary}.{worker_id}"
        self._file: int | None = None

    def acquire(self) -> None:
        """Lock the file of this worker; without a usable folder only log that."""
        try:
            self._folder.mkdir(mode=0o700, exist_ok=True)
            _check_owner(self._folder)
            unfinished = self._folder / (_UNFINISHED + self._name)
            self._file = os.open(unfinished, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600)
            fcntl.flock(self._file, fcntl.LOCK_EX)
            unfinished.rename(self._folder / self._name)
        except OSError as error:
            LOG.info("worker locks not used: error=%(error)s", {"error": error})

    def write(self, text: str) -> None:
        """Keep a text in the file of this worker, for whoever notices its end."""
        if self._file is None:
            return
        content = text.encode()
        with contextlib.suppress(OSError):  # of a full disk
            os.pwrite(self._file, content, 0)
            os.ftruncate(self._file, len(content))

    def release(self) -> None:
        """Remove the file of this worker, and the folder of the last one."""
        if self._file is None:
            return
        with contextlib.suppress(OSError):
            (self._folder / self._name).unlink()
            self._folder.rmdir()
        os.close(self._file)
        self._file = None

    @contextlib.contextmanager
    def ended_workers(self, binaries: Collection[str]) -> Iterator[dict[str, EndedWorker]]:
        """Yield the workers of these daemons that have ended, each to one caller at a time.

        They are forgotten at the end of the block unless it raises.

        Returns:
            The workers by their ids.
        """
        held: dict[str, int] = {}
        try:
            if self._file is not None:
                held = self._lock_others(binaries)
            parts = (name.partition(".") for name in held)
            yield {
                worker_id: EndedWorker(binary, _read(held[f"{binary}.{worker_id}"]))
                for binary, _, worker_id in parts
            }
            for name in held:
                (self._folder / name).unlink(missing_ok=True)
        finally:
            for file in held.values():
                os.close(file)

    def _lock_others(self, binaries: Collection[str]) -> dict[str, int]:
        names = {path.name for path in self._folder.iterdir()} - {self._name}
        others = sorted(name for name in names if name.partition(".")[0] in binaries)
        found = {name: self._try_lock(name) for name in others}
        return {name: file for name, file in found.items() if file is not None}

    def _try_lock(self, name: str) -> int | None:
        try:
            file = os.open(self._folder / name, os.O_RDWR | os.O_NOFOLLOW)
        except OSError:  # it has just been removed
            return None
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:  # its worker runs
            os.close(file)
            return None
        return file


def _read(file: int) -> str:
    return os.pread(file, os.fstat(file).st_size, 0).decode(errors="replace")


def _check_owner(folder: Path) -> None:
    found = folder.lstat()
    private = stat.S_ISDIR(found.st_mode) and not stat.S_IMODE(found.st_mode) & 0o077
    if not private or found.st_uid != os.geteuid():
        raise PermissionError(f"{folder} is not a private folder of this user")
