"""A standalone service for the time of the demo, in a process and a folder of its own.

Decides nothing about the service: it is the ``standalone`` command, and its address
is taken from what that prints.
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
    """Carries what the service had to say."""


@contextmanager
def run_standalone_service() -> Iterator[str]:
    """The endpoint of a running service that is gone at the end of the block."""
    with tempfile.TemporaryDirectory(prefix="heat-convergence-demo-") as folder:
        log = Path(folder) / "service.log"
        with log.open("w") as errors:
            process = subprocess.Popen(
                [
                    *(sys.executable, "-m", "heat_convergence.cli.main", "standalone"),
                    *("--port", "0", "--database", f"{folder}/demo.sqlite"),
                ],
                stdout=subprocess.PIPE,
                stderr=errors,
                text=True,
                start_new_session=True,  # Ctrl-C is for the demo, which then ends the service
            )
        try:
            yield _endpoint(process, log)
        finally:
            _end(process)


def _endpoint(process: subprocess.Popen[str], log: Path) -> str:
    output = process.stdout if process.stdout is not None else ()
    for line in output:
        if _ADDRESS in line:
            endpoint = line.strip().removeprefix(_ADDRESS)
            _wait_until_it_answers(endpoint, log)
            return endpoint
    raise ServiceStartError(log.read_text())


def _wait_until_it_answers(endpoint: str, log: Path) -> None:
    deadline = time.monotonic() + START_TIMEOUT_S
    while True:
        try:
            with urllib.request.urlopen(f"{endpoint}/stacks", timeout=START_TIMEOUT_S):
                return
        except urllib.error.URLError as error:
            if time.monotonic() > deadline:
                raise ServiceStartError(f"{error}\n{log.read_text()}") from error
            time.sleep(0.1)  # another process's start: nothing here could wake us


def _end(process: subprocess.Popen[str]) -> None:
    process.terminate()
    try:
        process.wait(STOP_TIMEOUT_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
    if process.stdout is not None:
        process.stdout.close()
