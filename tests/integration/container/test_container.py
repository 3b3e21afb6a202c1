"""The container image works as its file says: an ordinary user, a read-only file system."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import tempfile
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest

from heat_convergence.testing.daemon_processes import free_port, wait_until, write_config
from tests.integration.container.container_image import ContainerImage

CONFIG = "/etc/heat-convergence/heat-convergence.conf"
KEY = "k" * 32


def _missing() -> str:
    """Return why no image can be built here; empty if one can."""
    if os.geteuid() != 0:
        return "only root can make a root folder"
    programs = [name for name in ("unshare", "setpriv", "chroot") if shutil.which(name) is None]
    if programs:
        return f"{', '.join(programs)} not installed"
    done = subprocess.run(["unshare", "--mount", "true"], capture_output=True, text=True)
    return done.stderr.strip()


@pytest.fixture(scope="module")
def image() -> Iterator[ContainerImage]:
    reason = _missing()
    if reason:
        pytest.skip(reason)
    folder = Path(tempfile.mkdtemp(prefix="hc-image-"))
    try:
        folder.chmod(0o755)  # the image's user goes through it
        image = ContainerImage(folder)
        image.build()
        yield image
    finally:
        shutil.rmtree(folder)


@pytest.fixture
def port(image: ContainerImage, tmp_path: Path, mariadb_url: str, rabbit_url: str) -> int:
    """Return the port of the API that the configuration of the image names."""
    port = free_port()
    options = {
        "DEFAULT": {"auth_encryption_key": KEY, "transport_url": rabbit_url},
        "database": {"connection": mariadb_url},
        "metrics": {"api_port": 0},
        "heat_api": {
            "auth_strategy": "noauth",
            "bind_host": "127.0.0.1",
            "bind_port": port,
            "workers": 1,
        },
    }
    image.write(CONFIG, write_config(tmp_path / "heat-convergence.conf", options).read_text())
    return port


def test_commands_of_the_image_run_read_only_as_its_user(
    image: ContainerImage, port: int, tmp_path: Path
) -> None:
    output = tmp_path / "probe.log"
    probe = "id -u; touch /opt/heat-convergence/x; touch /x; touch /tmp/x && echo written"
    image.start("sh", "-c", probe, output=output).wait(60)
    lines = output.read_text().splitlines()
    assert lines[0] == "42418"
    assert (
        sum("Read-only file system" in line or "Permission denied" in line for line in lines) == 2
    )
    assert lines[-1] == "written"

    output = tmp_path / "upgrade.log"
    upgrade = image.start("heat-convergence-manage", "db", "upgrade", output=output)
    assert upgrade.wait(120) == 0, output.read_text()

    output = tmp_path / "api.log"
    daemon = image.start("heat-convergence-api", output=output)
    try:
        wait_until(lambda: _answers(port) or daemon.poll() is not None, "the API answers")
        assert daemon.poll() is None, output.read_text()
        worker = _status(daemon.pid)
        assert worker["Uid"].split()[0] == "42418"
        assert int(worker["CapEff"], 16) == 0
        daemon.send_signal(signal.SIGTERM)
        assert daemon.wait(60) == 0, output.read_text()
    finally:
        if daemon.poll() is None:
            os.killpg(daemon.pid, signal.SIGKILL)
            daemon.wait()
    assert "Traceback" not in output.read_text()


def _answers(port: int) -> bool:
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/healthcheck", timeout=5) as answer:
            return bool(answer.status == 200)
    except OSError:
        return False


def _status(pid: int) -> dict[str, str]:
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    pairs = (line.partition(":") for line in lines)
    return {name: value.strip() for name, _, value in pairs}
