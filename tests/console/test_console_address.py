"""The address of the console, as the standalone service prints it and opens it in a browser."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
import urllib3

from heat_convergence.testing.daemon_processes import STANDALONE, DaemonProcess, free_port


def test_standalone_prints_the_address_of_the_console_and_opens_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened = tmp_path / "opened"
    browser = tmp_path / "browser"
    browser.write_text(f'#!/bin/sh\necho "$1" > {opened}\n')
    browser.chmod(0o755)
    monkeypatch.setenv("BROWSER", f"{browser} %s")
    port = free_port()
    program = str(Path(sys.executable).with_name("heat-convergence"))
    command = [program, "standalone", "--open-console", "--port", str(port)]
    command += ["--database", str(tmp_path / "stacks.sqlite")]
    daemon = DaemonProcess(STANDALONE, command, tmp_path / "standalone.log")
    try:
        daemon.start()
        url = f"http://127.0.0.1:{port}/console"
        assert opened.read_text().strip() == url
        assert f"Console: {url}" in daemon.log.read_text()
        page = urllib3.request("GET", url)
        assert page.status == 200
        assert b"console.css" in page.data
        settings = urllib3.request("GET", f"{url}/settings.json")
        assert settings.json() == {"auth": "none", "project_id": "standalone"}
    finally:
        daemon.kill()
