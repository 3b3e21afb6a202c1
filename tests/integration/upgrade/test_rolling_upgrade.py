"""The steps of ``docs/operate/upgrading.rst``: daemons of two releases on one database and bus.

Users create, change and delete stacks through the API of either release during all steps. In the
end every stack is as its last request says, and nothing was created twice.
"""

from __future__ import annotations

import secrets
import shlex
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any

import pytest

from heat_convergence.cli.config import package_version
from heat_convergence.db.maintenance.schema_revisions import HEAD_REVISION
from heat_convergence.testing.daemon_processes import (
    API,
    ENGINE,
    OBSERVER,
    DaemonProcess,
    ServiceDeployment,
)
from heat_convergence.testing.file_cloud import FileCloudAudit
from tests.documented_commands import DocumentedPage
from tests.integration.chaos import SEED, assert_account_is_right, wait_until_settled
from tests.integration.harness import drop_all_tables, error_log_lines, query_rows, user_for
from tests.integration.upgrade.previous_release import (
    LAST_OLD_REVISION,
    VERSION,
    PreviousRelease,
    check_out_previous_release,
)
from tests.integration.workload import WorkloadUser

PAGE = DocumentedPage("operate/upgrading.rst")
UPGRADE = PAGE.block_after("3. Upgrade the tables")
CHECK = PAGE.block_after("4. Check the host")
RESTART = PAGE.block_after("5. Restart the daemons")
AFTERWARDS = PAGE.block_after("6. List the daemons")
USER_COUNT = 4
IN_PROGRESS = "SELECT count(*) FROM stack WHERE status = 'IN_PROGRESS'"
WARNINGS = 1
KEY = {"DEFAULT": {"auth_encryption_key": secrets.token_urlsafe(32)}}


@pytest.fixture(scope="module")
def previous(tmp_path_factory: pytest.TempPathFactory) -> PreviousRelease:
    return check_out_previous_release(tmp_path_factory.mktemp("history") / "previous")


@dataclass
class Upgrade:
    """Two deployments of one service, and the users of both."""

    url: str
    old: ServiceDeployment
    new: ServiceDeployment
    random: Random = field(default_factory=lambda: Random(SEED))
    users: list[WorkloadUser] = field(default_factory=list)

    def send_requests(self, *deployments: ServiceDeployment) -> int:
        """Let each user send a request, through the API of one of the deployments.

        Returns:
            The number of stacks in progress.
        """
        for user in self.users:
            user.user = user_for(self.random.choice(deployments))
            user.send_request(lambda: None)
        return int(query_rows(self.url, IN_PROGRESS)[0][0])

    def run_page_command(self, line: str) -> subprocess.CompletedProcess[str]:
        """Run a command of the page with the new release."""
        program, *arguments = shlex.split(line)
        script = str(Path(sys.executable).with_name(program))
        command = [script, "--config-file", str(self.new.config), *arguments]
        return subprocess.run(command, capture_output=True, text=True, timeout=120)

    def replace_daemon(self, role: str, old: ServiceDeployment, new: ServiceDeployment) -> None:
        """Drain the daemon of a role, as ``systemctl restart`` does, and start the other one."""
        (before,) = [each for each in old.daemons_with_role(role) if each.is_running()]
        assert before.terminate() == 0, before.log_tail()
        after = self._daemon(role, new)
        if not after.is_running():
            after.start()

    def _daemon(self, role: str, deployment: ServiceDeployment) -> DaemonProcess:
        found = deployment.daemons_with_role(role)
        return found[0] if found else deployment.add_daemon(role)


@pytest.fixture(params=["mariadb", "postgresql"])
def upgrade(
    previous: PreviousRelease,
    cloud: Path,
    rabbit_url: str,
    tmp_path: Path,
    request: pytest.FixtureRequest,
) -> Any:
    url = request.getfixturevalue(f"{request.param}_url")
    drop_all_tables(url)
    shared = {"database_url": url, "transport_url": rabbit_url, "options": KEY}
    for name in ("old", "new"):
        (tmp_path / name).mkdir()
    old = ServiceDeployment(tmp_path / "old", launcher=previous.launcher, **shared)
    new = ServiceDeployment(tmp_path / "new", **shared)
    previous.manage(old.config, "db", "upgrade")
    assert query_rows(url, "SELECT version_num FROM alembic_version") == [(LAST_OLD_REVISION,)]
    with old, new:
        yield Upgrade(url, old.start(), new)


def test_rolling_upgrade_and_the_way_back(upgrade: Upgrade, cloud: Path) -> None:
    old, new = upgrade.old, upgrade.new
    upgrade.users = [
        WorkloadUser(number, Random(SEED * 1000 + number), user_for(old))
        for number in range(USER_COUNT)
    ]
    assert upgrade.send_requests(old)
    done = upgrade.run_page_command(UPGRADE[0])
    assert f"is at {HEAD_REVISION}" in done.stdout, done.stdout + done.stderr
    upgrade.send_requests(old)
    done = upgrade.run_page_command(CHECK[0])
    assert done.returncode == WARNINGS, done.stdout + done.stderr

    # Both releases at work; then, as if this were the only host, one daemon after the other.
    for role in (OBSERVER, ENGINE, API):
        new.add_daemon(role).start(wait=False)
    for daemon in new.daemons:
        daemon.wait_until_started()
    for _ in range(4):
        upgrade.send_requests(old, new)
    done = upgrade.run_page_command(AFTERWARDS[0])
    assert {VERSION, package_version()} <= set(done.stdout.split()), done.stdout
    for command in RESTART:
        assert upgrade.send_requests(old if old.daemons_with_role(API)[0].is_running() else new)
        upgrade.replace_daemon(command.rpartition("-")[2], old, new)
    upgrade.send_requests(new)
    wait_until_settled(upgrade.users)
    assert_account_is_right(upgrade.users, upgrade.url, FileCloudAudit.of_directory(cloud))
    done = upgrade.run_page_command(AFTERWARDS[0])
    assert VERSION not in done.stdout.split(), done.stdout
    for command in AFTERWARDS[1:]:
        done = upgrade.run_page_command(command)
        assert done.returncode == 0, done.stdout + done.stderr

    # The way back.
    upgrade.send_requests(new)
    for role in (ENGINE, OBSERVER, API):
        upgrade.replace_daemon(role, new, old)
        upgrade.send_requests(*([old] if role == API else [new]))
    wait_until_settled(upgrade.users)
    assert_account_is_right(upgrade.users, upgrade.url, FileCloudAudit.of_directory(cloud))
    assert [*error_log_lines(old), *error_log_lines(new)] == []
