"""``docs/operate/installing.rst`` from its first database to a stack, with a real Keystone.

Keystone has an empty database of its own, so that the accounts of the page are not there; nothing
of the cloud is changed. The commands are run as they are printed, but for the placeholder ``HOST``
and the names of the database and the virtual host, which other services of this machine may have.
"""

from __future__ import annotations

import json
import os
import subprocess
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from heat_convergence.testing.daemon_processes import free_port, wait_until, write_config
from tests.cloud.testbed import CloudTestbed, empty_keystone
from tests.conftest import MARIADB, fresh_database
from tests.installation_steps import (
    PAGE,
    broker_of_page,
    config_of_page,
    database_of_page,
    run_page_command,
    split_page_command,
)

Json = Any
READY = "worker started"
# The group needs the delegated credential of the user, the handle a user in the domain of stacks.
TEMPLATE = """
heat_template_version: 2021-04-16
resources:
  people:
    type: OS::Keystone::Group
    properties: {name: people-of-the-stack}
  handle: {type: OS::Heat::WaitConditionHandle}
  signalled:
    type: OS::Heat::WaitCondition
    properties: {handle: {get_resource: handle}, timeout: 300}
outputs:
  signal: {value: {get_attr: [handle, curl_cli]}}
"""


@pytest.fixture
def name() -> str:
    return f"hc_test_{uuid.uuid4().hex[:12]}"


@pytest.fixture
def keystone(cloud_testbed: CloudTestbed, tmp_path: Path) -> Iterator[CloudTestbed]:
    """A Keystone whose only user is the administrator, with the project of services."""
    folder = tmp_path / "keystone"
    folder.mkdir()
    for url in fresh_database(MARIADB, "MariaDB"):
        with empty_keystone(cloud_testbed, folder, url) as found:
            project = {"project": {"name": "service", "domain_id": "default"}}
            found.identity_client().post("/projects", project)
            yield found


class Administrator:
    """An administrator at the command line."""

    def __init__(self, keystone: CloudTestbed) -> None:
        self.environment = {
            **os.environ,
            **keystone.environment("admin", keystone.facts["region"]),
        }

    def run(self, line: str) -> str:
        """Run a line of the shell and return its output."""
        script = f"PATH={Path(split_page_command('openstack')[0]).parent}:$PATH; {line}"
        done = subprocess.run(
            ["sh", "-c", script], env=self.environment, capture_output=True, text=True, timeout=300
        )
        assert done.returncode == 0, f"{line}\n{done.stdout}{done.stderr}"
        return done.stdout


@contextmanager
def running(lines: list[str], folder: Path, *config: Path) -> Iterator[None]:
    """Run the daemons of the page."""
    daemons = []
    environment = {**os.environ, "OSLO_LOCK_PATH": str(folder)}
    try:
        for line in lines:
            log = folder / f"{line}.log"
            with log.open("wb") as file:
                command = split_page_command(line, *config)
                daemons.append(
                    subprocess.Popen(command, stdout=file, stderr=file, env=environment)
                )
            wait_until(lambda log=log: READY in log.read_text(), f"{line} works")
        yield
    finally:
        for daemon in daemons:
            daemon.terminate()
        codes = [daemon.wait(90) for daemon in daemons]
    assert codes == [0] * len(lines)


@pytest.mark.timeout(900)
def test_commands_of_the_page_make_a_service_that_creates_a_stack(
    name: str, keystone: CloudTestbed, tmp_path: Path
) -> None:
    port = free_port()
    administrator = Administrator(keystone)
    commands = PAGE.block_after("in which stacks have users, with its administrator")
    for line in commands:
        administrator.run(line.replace("HOST:8004", f"127.0.0.1:{port}"))
    with database_of_page(name) as database, broker_of_page(name) as broker:
        config = tmp_path / "heat-convergence.conf"
        address = keystone.auth_url.removeprefix("http://").removesuffix("/v3")
        config.write_text(config_of_page(name, database, broker, address))
        # The ports of this machine are in use by other tests.
        metrics = {"metrics": {f"{each}_port": 0 for each in ("api", "engine", "observer")}}
        ports = write_config(tmp_path / "ports.conf", {"heat_api": {"bind_port": port}, **metrics})
        for line in PAGE.block_after("The tables, and a check of everything"):
            done = run_page_command(line, config, ports)
            assert done.returncode == 0, f"{line}\n{done.stdout}{done.stderr}"
        daemons = PAGE.block_after("like on as many hosts as you")
        assert daemons == [f"heat-convergence-{each}" for each in ("api", "engine", "observer")]
        with running(daemons, tmp_path, config, ports):
            create_and_delete_stack(administrator, tmp_path)


def create_and_delete_stack(administrator: Administrator, folder: Path) -> None:
    """Create a stack with the real client, signal it, and delete it."""
    template = folder / "template.yaml"
    template.write_text(TEMPLATE)
    administrator.run(f"openstack stack create -t {template} first")
    show = "openstack stack output show first signal -f json"

    def find_signal() -> str:
        return str(json.loads(administrator.run(show)).get("output_value") or "")

    wait_until(find_signal, "the stack can be signalled")
    data = json.dumps({"status": "SUCCESS", "data": "it works"})
    administrator.run(f"{find_signal()} --fail --data-binary '{data}'")
    status = "openstack stack show first -f value -c stack_status"
    wait_until(
        lambda: administrator.run(status).strip() == "CREATE_COMPLETE", "the stack is complete"
    )
    groups = administrator.run("openstack group list -f value -c Name")
    assert "people-of-the-stack" in groups
    administrator.run("openstack stack delete --yes --wait first")
    assert "people-of-the-stack" not in administrator.run("openstack group list -f value -c Name")
