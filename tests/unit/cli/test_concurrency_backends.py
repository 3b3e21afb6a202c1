"""The concurrency backend of a process, checked in separate processes."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from heat_convergence.cli import concurrency

pytestmark = pytest.mark.processes

PROBE = """
import sys
from heat_convergence.cli import concurrency
concurrency.set_up_backend(sys.argv[1])
import queue, threading, time
from concurrent.futures import ThreadPoolExecutor
from eventlet.patcher import is_monkey_patched
from oslo_service import backend
with ThreadPoolExecutor(4) as pool:
    assert list(pool.map(lambda n: time.sleep(0.01) or n, range(8))) == list(range(8))
print(is_monkey_patched("socket"), backend.get_backend_type().value)
"""


@pytest.mark.parametrize(
    ("backend", "output"), [("eventlet", "True eventlet"), ("threading", "False threading")]
)
def test_process_runs_on_the_configured_backend(backend: str, output: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", PROBE, backend],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.stdout.strip() == output, done.stderr
    assert "deprecated" not in done.stderr


def test_eventlet_is_the_default() -> None:
    assert concurrency.configured_backend([], prog="p") == "eventlet"


def test_configuration_file_of_the_command_line_chooses_the_backend(tmp_path: Path) -> None:
    path = tmp_path / "own.conf"
    path.write_text("[DEFAULT]\nconcurrency = threading\n")
    arguments = ["--debug", "--config-file", str(path), "--port", "0"]
    assert concurrency.configured_backend(arguments, prog="p") == "threading"


def test_unknown_backend_is_rejected(tmp_path: Path) -> None:
    path = tmp_path / "own.conf"
    path.write_text("[DEFAULT]\nconcurrency = magic\n")
    with pytest.raises(ValueError, match="magic"):
        concurrency.configured_backend(["--config-file", str(path)], prog="p")
