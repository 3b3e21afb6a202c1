"""A standalone service for the time of the demo, in its own process and folder.

Decides nothing about the service: it runs the ``standalone`` command and reads its address
from the output.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_ADDRESS = "export OS_ENDPOINT="
START_TIMEOUT_S = 60
STOP_TIMEOUT_S = 15


class ServiceStartError(RuntimeError):
    """A service that did not start; the text is its output."""


@contextmanager
def run_standalone_service() -> Iterator[str]:
    """Run a service and return its endpoint; it is removed at the end of the block."""
    with tempfile.TemporaryDirectory(prefix="heat-convergence-demo-") as folder:
        log = Path(folder) / "service.log"
        with log.open("a") as errors:
            process = subprocess.Popen(  # nosec B603  # this program
                [
                    *(sys.executable, "-m", "heat_convergence.cli.main", "standalone"),
                    *("--port", "0", "--database", f"{folder}/demo.sqlite"),
                    # Nobody reads the pipe after the start: a log there would fill it and
                    # block the service.
                    *("--log-file", str(log)),
                ],
                stdout=subprocess.PIPE,
                stderr=errors,
                text=True,
                start_new_session=True,  # Ctrl-C reaches the demo, which stops the service
            )
        try:
            yield _endpoint(process, log)
        finally:
            _stop(process)


def _endpoint(process: subprocess.Popen[str], log: Path) -> str:
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
        except urllib.error.URLError as error:
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
