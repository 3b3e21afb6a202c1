"""A standalone service for the time of the demo, in its own processes and folder.

Decides nothing about the service but its watch, which looks every second: it runs the
``standalone`` command, reads its address from the output, and can kill its worker process.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from heat_convergence.cli.demo.cloud_resource import DemoResource
from heat_convergence.testing.file_cloud import FOLDER_VARIABLE, write_entry_point

_LOG, _CLOUD = "service.log", "cloud"
_ADDRESS = "export OS_ENDPOINT="
START_TIMEOUT_S = 60
STOP_TIMEOUT_S = 15
_OPTIONS = """[drift]
interval = 1
interval_max = 1
"""


class ServiceStartError(RuntimeError):
    """A service that did not start; the text is its output."""


class DemoService:
    """A running service.

    Attributes:
        endpoint: The URL of its API.
        cloud_folder: The folder whose files are its cloud.
    """

    def __init__(self, process: subprocess.Popen[str], folder: Path) -> None:
        self._process = process
        self._log = folder / _LOG
        self.endpoint = _read_endpoint(process, self._log)
        self.cloud_folder = folder / _CLOUD

    def kill_worker(self) -> int:
        """Kill the process of API, engine and observer, and return its id.

        The parent process, which has started it, starts another one.
        """
        worker_id = self._worker_ids()[0]
        os.kill(worker_id, signal.SIGKILL)
        return worker_id

    def wait_for_worker(self, after: int) -> int:
        """Return the id of the worker process that follows a killed one.

        Raises:
            ServiceStartError: No other process serves the API in time.
        """
        _wait_until_ready(self.endpoint, self._log)
        return next((each for each in self._worker_ids() if each != after), after)

    def _worker_ids(self) -> list[int]:
        parent = self._process.pid
        children = Path(f"/proc/{parent}/task/{parent}/children").read_text(encoding="ascii")
        return [int(each) for each in children.split()]


@contextmanager
def run_standalone_service() -> Iterator[DemoService]:
    """Run a service for the time of the block; everything of it is removed afterwards."""
    with tempfile.TemporaryDirectory(prefix="heat-convergence-demo-") as name:
        folder = Path(name)
        process = _start(folder)
        try:
            yield DemoService(process, folder)
        finally:
            _stop(process)


def _start(folder: Path) -> subprocess.Popen[str]:
    log, options = folder / _LOG, folder / "heat-convergence.conf"
    options.write_text(_OPTIONS, encoding="utf-8")
    plugin = write_entry_point(folder / "plugin", DemoResource)
    paths = [str(plugin), *filter(None, [os.environ.get("PYTHONPATH")])]
    with log.open("a") as errors:
        return subprocess.Popen(  # nosec B603  # this program
            [
                *(sys.executable, "-m", "heat_convergence.cli.main", "standalone"),
                *("--port", "0", "--database", f"{folder}/demo.sqlite"),
                # Nobody reads the pipe after the start: a log there would fill it and
                # block the service.
                *("--log-file", str(log), "--config-file", str(options)),
            ],
            stdout=subprocess.PIPE,
            stderr=errors,
            text=True,
            env={
                **os.environ,
                FOLDER_VARIABLE: str(folder / _CLOUD),
                "XDG_CACHE_HOME": str(folder / "cache"),  # of the list of entry points
                "PYTHONPATH": os.pathsep.join(paths),
            },
            start_new_session=True,  # Ctrl-C reaches the demo, which stops the service
        )


def _read_endpoint(process: subprocess.Popen[str], log: Path) -> str:
    output = process.stdout if process.stdout is not None else ()
    for line in output:
        if _ADDRESS in line:
            endpoint = line.strip().removeprefix(_ADDRESS)
            _wait_until_ready(endpoint, log)
            return endpoint
    raise ServiceStartError(log.read_text())


def _wait_until_ready(endpoint: str, log: Path) -> None:
    deadline = time.monotonic() + START_TIMEOUT_S
    while True:
        try:
            url = f"{endpoint}/stacks"  # of the service that was started
            with urllib.request.urlopen(url, timeout=START_TIMEOUT_S):  # nosec B310
                return
        except OSError as error:  # of the connection, or of a process that has just been killed
            if time.monotonic() > deadline:
                raise ServiceStartError(f"{error}\n{log.read_text()}") from error
            time.sleep(0.1)  # the other process cannot notify this one


def _stop(process: subprocess.Popen[str]) -> None:
    process.terminate()
    try:
        process.wait(STOP_TIMEOUT_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
    if process.stdout is not None:
        process.stdout.close()
