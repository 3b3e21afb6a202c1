"""The units of ``deploy/systemd`` under a real systemd, installed as the page prints it."""

from __future__ import annotations

import contextlib
import json
import shutil
import tempfile
import urllib.request
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from heat_convergence.cli.startup.startup_state import EXIT_CONFIGURATION
from heat_convergence.testing.daemon_processes import free_port, wait_until
from tests.documented_commands import DocumentedPage
from tests.installation_steps import PAGE, broker_of_page, config_of_page, database_of_page
from tests.integration.container.container_image import ROOT, ContainerImage
from tests.integration.container.systemd_host import SystemdHost, find_missing

CONFIG = "/etc/heat-convergence/heat-convergence.conf"
API, ENGINE, OBSERVER = (f"heat-convergence-{role}" for role in ("api", "engine", "observer"))
API_CFN = f"{API}-cfn"
LOGS = "/var/log/heat-convergence"
STACK = {
    "stack_name": "expression",
    "template": {
        "heat_template_version": "2018-08-31",
        "resources": {
            "sum": {
                "type": "OS::Heat::Value",
                "properties": {
                    "value": {"yaql": {"expression": "$.data.sum()", "data": [1, 2, 3]}}
                },
            }
        },
        "outputs": {"sum": {"value": {"get_attr": ["sum", "value"]}}},
    },
}
AS_USER = "setpriv --reuid=heat-convergence --regid=heat-convergence --clear-groups"


@pytest.fixture(scope="module")
def port() -> int:
    return free_port()


@pytest.fixture(scope="module")
def config(port: int) -> Iterator[str]:
    """The configuration of the page, for a database and a virtual host of its own."""
    name = f"hc_test_{uuid.uuid4().hex[:12]}"
    with database_of_page(name) as database, broker_of_page(name) as broker:
        text = config_of_page(name, database, broker)
        # Here is no Keystone, and the journal of the page is another program.
        yield text.replace(
            "[DEFAULT]\n", f"[DEFAULT]\nlog_dir = {LOGS}\nnum_engine_workers = 1\n"
        ) + (
            f"\n[heat_api]\nauth_strategy = noauth\nbind_host = 127.0.0.1\nbind_port = {port}\n"
            f"workers = 1\n[heat_api_cfn]\nbind_host = 127.0.0.1\nbind_port = {free_port()}\n"
            "[metrics]\napi_port = 0\napi_cfn_port = 0\nengine_port = 0\nobserver_port = 0\n"
        )


@pytest.fixture(scope="module")
def host(config: str) -> Iterator[SystemdHost]:
    """A host with the program and its configuration, on which systemd runs."""
    if reason := find_missing():
        pytest.skip(reason)
    folder = Path(tempfile.mkdtemp(prefix="hc-systemd-"))
    host = None
    try:
        folder.chmod(0o755)  # the daemons' user goes through it
        image = ContainerImage(folder)
        del image.instructions.run[1:]  # the program alone: the page makes the user
        image.build()
        image.write(CONFIG, config)
        host = SystemdHost(image)
        shutil.copytree(ROOT / "deploy", image.root / "source" / "deploy")
        host.start(folder / "systemd.log")
        yield host
    finally:
        if host is not None:
            host.stop()
        shutil.rmtree(folder)


@pytest.fixture(scope="module")
def started(host: SystemdHost) -> SystemdHost:
    """The host after the commands of the page."""
    run(host, "heat-convergence-manage db upgrade")
    for line in PAGE.block_after("in ``/opt/heat-convergence``; as root"):
        run(host, line)
    return host


def run(host: SystemdHost, command: str) -> str:
    """Run a command, which must succeed."""
    code, text = host.run(command)
    assert code == 0, f"{command}\n{text}\n{host.run(f'tail -n 20 {LOGS}/*')[1]}"
    return text


def show(host: SystemdHost, unit: str, name: str) -> str:
    """Return a property of a unit."""
    return run(host, f"systemctl show --property {name} --value {unit}")


def count_workers(host: SystemdHost, unit: str) -> int:
    """Return how many workers of a daemon have accepted messages."""
    return int(host.run(f"grep -c 'worker accepts messages' {LOGS}/{unit}.log")[1])


def wait_for_restart(host: SystemdHost, unit: str, main: str) -> None:
    """Wait until systemd has started a daemon again.

    Args:
        host: The host of the unit.
        unit: The unit.
        main: The main process that ends.
    """
    wait_until(
        lambda: (
            show(host, unit, "MainPID") not in {"0", main}
            and show(host, unit, "ActiveState") == "active"
        ),
        f"{unit} is started again",
    )


@pytest.mark.parametrize("unit", [API, ENGINE, OBSERVER])
def test_commands_of_the_page_start_the_daemon(started: SystemdHost, unit: str) -> None:
    assert show(started, unit, "ActiveState") == "active"
    assert show(started, unit, "UnitFileState") == "enabled"
    assert show(started, unit, "NRestarts") == "0"
    main = show(started, unit, "MainPID")
    status = run(started, f"cat /proc/{main}/status")
    lines = dict(line.split(":\t", 1) for line in status.splitlines() if ":\t" in line)
    assert lines["Uid"].split()[0] == run(started, "id -u heat-convergence") != "0"
    assert (int(lines["CapEff"], 16), int(lines["CapBnd"], 16)) == (0, 0)
    assert lines["NoNewPrivs"] == "1"
    assert lines["Seccomp"] == "2"


def test_api_answers(started: SystemdHost, port: int) -> None:
    def answers() -> bool:
        with contextlib.suppress(OSError):
            url = f"http://127.0.0.1:{port}/healthcheck"
            with urllib.request.urlopen(url, timeout=30) as answer:
                return bool(answer.status == 200)
        return False

    wait_until(answers, "the API answers")


def test_units_let_daemons_do_their_work(started: SystemdHost, port: int) -> None:
    """Create a stack whose expression runs in the processes of the sandbox."""
    url = f"http://127.0.0.1:{port}/v1/p/stacks"
    headers = {"Content-Type": "application/json"}
    request = urllib.request.Request(url, json.dumps(STACK).encode(), headers)
    with urllib.request.urlopen(request, timeout=60) as answer:
        path = json.load(answer)["stack"]["links"][0]["href"]

    def read() -> Any:
        with urllib.request.urlopen(path, timeout=60) as answer:
            return json.load(answer)["stack"]

    wait_until(lambda: not read()["stack_status"].endswith("IN_PROGRESS"), "the stack is created")
    stack = read()
    assert stack["stack_status"] == "CREATE_COMPLETE", stack["stack_status_reason"]
    assert [each["output_value"] for each in stack["outputs"]] == [6]


def test_unit_of_the_cloudformation_api_starts_it(started: SystemdHost) -> None:
    run(started, f"systemctl start {API_CFN}")
    assert show(started, API_CFN, "ActiveState") == "active"
    run(started, f"systemctl stop {API_CFN}")
    assert show(started, API_CFN, "Result") == "success"


def test_reload_keeps_the_parent_process(started: SystemdHost) -> None:
    main = show(started, ENGINE, "MainPID")
    wait_until(lambda: count_workers(started, ENGINE), "a worker works")
    count = count_workers(started, ENGINE)
    run(started, f"systemctl reload {ENGINE}")
    wait_until(lambda: count_workers(started, ENGINE) == count + 1, "a new worker works")
    assert show(started, ENGINE, "MainPID") == main
    assert show(started, ENGINE, "ActiveState") == "active"


def test_killed_daemon_is_started_again(started: SystemdHost) -> None:
    main = show(started, OBSERVER, "MainPID")
    run(started, f"systemctl kill --kill-whom=main --signal=KILL {OBSERVER}")
    wait_for_restart(started, OBSERVER, main)
    assert show(started, OBSERVER, "NRestarts") == "1"


def test_daemon_with_a_hanging_worker_is_started_again(started: SystemdHost) -> None:
    folder = f"/etc/systemd/system/{OBSERVER}.service.d"
    run(started, f"mkdir {folder}; printf '[Service]\\nWatchdogSec=8\\n' > {folder}/short.conf")
    run(started, f"systemctl daemon-reload; systemctl stop {OBSERVER}")
    count = count_workers(started, OBSERVER)  # while no worker of before can still be added
    run(started, f"systemctl start {OBSERVER}")
    main = show(started, OBSERVER, "MainPID")
    wait_until(lambda: count_workers(started, OBSERVER) > count, "a new worker works")
    run(started, f"kill -STOP $(cat /proc/{main}/task/*/children)")
    wait_for_restart(started, OBSERVER, main)
    assert "workers do not answer" in run(started, f"cat {LOGS}/{OBSERVER}.log")
    run(started, f"rm -r {folder}; systemctl daemon-reload; systemctl restart {OBSERVER}")


def test_rotated_log_goes_on_in_a_new_file(started: SystemdHost) -> None:
    if shutil.which("logrotate") is None:
        pytest.skip("logrotate is not installed")
    (install,) = DocumentedPage("operate/logging.rst").block_after("files with logrotate, as root")
    run(started, f"mkdir /etc/logrotate.d; {install}")
    log = f"{LOGS}/{ENGINE}.log"
    run(started, "logrotate --force --state /tmp/rotated /etc/logrotate.d/heat-convergence")
    assert started.run(f"test -s {log}.1 && test ! -e {log}") == (0, "")
    run(started, f"systemctl reload {ENGINE}")  # its workers have something to say
    wait_until(lambda: started.run(f"grep 'worker accepts' {log}")[0] == 0, "a new file has lines")
    assert run(started, f"stat --format '%a %U' {log}") == "600 heat-convergence"


def test_stopped_daemon_ends_its_work(started: SystemdHost) -> None:
    run(started, f"systemctl stop {API}")
    assert show(started, API, "ActiveState") == "inactive"
    assert show(started, API, "Result") == "success"
    run(started, f"systemctl start {API}")


def test_wrong_configuration_is_not_tried_again(started: SystemdHost) -> None:
    run(started, f"cp --preserve {CONFIG} {CONFIG}.right")
    try:
        run(started, f"sed -i 's/^auth_encryption_key = .*/auth_encryption_key =/' {CONFIG}")
        code, _ = started.run(f"systemctl restart {ENGINE}")
        assert code != 0
        assert show(started, ENGINE, "ActiveState") == "failed"
        assert show(started, ENGINE, "ExecMainStatus") == str(EXIT_CONFIGURATION)
        assert show(started, ENGINE, "NRestarts") == "0"
    finally:
        run(started, f"mv {CONFIG}.right {CONFIG}")
    run(started, f"systemctl restart {ENGINE}")


def test_configuration_that_the_user_may_not_read_is_named(started: SystemdHost) -> None:
    run(started, f"chmod 600 {CONFIG}")
    try:
        code, text = started.run(f"{AS_USER} {ENGINE}")
    finally:
        run(started, f"chmod 640 {CONFIG}")
    assert code == EXIT_CONFIGURATION
    (line,) = text.splitlines()
    assert CONFIG in line


def test_log_directory_that_the_user_may_not_write_to_is_named(started: SystemdHost) -> None:
    run(started, "install --directory --mode 700 /var/log/protected")
    command = f"{AS_USER} {ENGINE} --log-dir /var/log/protected"
    process = run(started, f"{command} > /tmp/protected.log 2>&1 & echo $!")
    try:
        wait_until(
            lambda: "worker accepts messages" in run(started, "cat /tmp/protected.log"),
            "the engine works without its log file",
        )
    finally:
        run(started, f"kill {process}")
    first = run(started, "head -n 1 /tmp/protected.log")
    assert "the log goes to standard error, since /var/log/protected/" in first
