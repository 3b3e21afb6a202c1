"""Guru Meditation Reports: written on a signal, without secrets."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from heat_convergence.testing.daemon_processes import wait_until

PROGRAM = """
import time
from heat_convergence.cli import config
from heat_convergence.cli.guru_meditation import set_up_reports
conf = config.load_config(["--config-file", {file!r}], prog="heat-convergence-engine")
set_up_reports(conf)
print("ready", flush=True)
time.sleep(60)
"""


@pytest.mark.processes
def test_report_is_written_on_the_signal(tmp_path: Path) -> None:
    file = tmp_path / "hc.conf"
    file.write_text(
        f"[DEFAULT]\nauth_encryption_key = planted\n[oslo_reports]\nlog_dir = {tmp_path}\n"
    )
    command = [sys.executable, "-W", "ignore", "-c", PROGRAM.format(file=str(file))]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == "ready\n"
            os.kill(process.pid, signal.SIGUSR2)
            wait_until(lambda: reports_in(tmp_path), "the report is written")
        finally:
            process.kill()
    (report,) = reports_in(tmp_path)
    assert "Heat Convergence" in report
    assert "Threads" in report
    assert "planted" not in report


def reports_in(folder: Path) -> list[str]:
    found = [path.read_text() for path in folder.glob("heat-convergence-engine_guru*")]
    return [text for text in found if "Threads" in text]
