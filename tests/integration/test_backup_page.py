"""The commands of ``docs/operate/backup.rst``: a dump of work in progress, restored elsewhere.

The lost installation goes on for a while after the dump, as a real one does. The restored
one must bring every stack to its end, with nothing created twice.
"""

from __future__ import annotations

import secrets
import shlex
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from random import Random

import pytest
from sqlalchemy.engine import URL, make_url

from heat_convergence.testing.daemon_processes import wait_until
from heat_convergence.testing.file_cloud import FileCloudAudit
from tests.conftest import MARIADB, POSTGRESQL, fail_or_skip, fresh_database
from tests.documented_commands import DocumentedPage
from tests.integration.chaos import SEED, assert_account_is_right, wait_until_settled
from tests.integration.conftest import Deploy
from tests.integration.harness import drop_all_tables, query_rows, user_for
from tests.integration.workload import WorkloadUser

PAGE = DocumentedPage("operate/backup.rst")
BACKUP = {"mariadb": "MariaDB or MySQL, one snapshot", "postgresql": "\nPostgreSQL"}
RESTORE = {"mariadb": "   MariaDB or MySQL", "postgresql": "   PostgreSQL"}
UNFINISHED = "SELECT id FROM resource WHERE job IS NOT NULL"
USER_COUNT = 4
KEY = {"DEFAULT": {"auth_encryption_key": secrets.token_urlsafe(32)}}


@pytest.fixture
def restored_url(database: str) -> Iterator[str]:
    """Yield the URL of the database of the new installation."""
    servers = {"mariadb": (MARIADB, "MariaDB"), "postgresql": (POSTGRESQL, "PostgreSQL")}
    yield from fresh_database(*servers[database])


@pytest.mark.parametrize("database", ["mariadb", "postgresql"])
def test_restored_work_goes_on_and_nothing_is_doubled(
    database: str,
    cloud: Path,
    deploy: Deploy,
    restored_url: str,
    tmp_path: Path,
    request: pytest.FixtureRequest,
) -> None:
    lost_url = request.getfixturevalue(f"{database}_url")
    lost = deploy(lost_url)
    lost.reconfigure(KEY)
    lost.start()
    users = [
        WorkloadUser(number, Random(SEED * 1000 + number), user_for(lost))
        for number in range(USER_COUNT)
    ]
    for user in users:
        user.send_request(_never_repeat)
    wait_until(lambda: _count_calls(cloud) >= USER_COUNT, "the cloud is at work")
    run_page_command(PAGE.block_after(BACKUP[database])[0], lost_url, tmp_path)
    in_dump = _count_calls(cloud)
    wait_until(
        lambda: (
            _count_calls(cloud) >= in_dump + USER_COUNT or not query_rows(lost_url, UNFINISHED)
        ),
        "work goes on after the dump, or ends",
    )
    lost.close()

    new = deploy(restored_url)
    new.reconfigure(KEY)
    _load_dump(database, restored_url, tmp_path)
    assert query_rows(restored_url, UNFINISHED)
    for line in PAGE.block_after("4. Upgrade the tables")[:2]:
        new.manage(*shlex.split(line)[1:])
    new.start()
    for user in users:
        user.user = user_for(new)
    wait_until_settled(users)
    assert_account_is_right(users, restored_url, FileCloudAudit.of_directory(cloud))


def run_page_command(line: str, url: str, folder: Path) -> None:
    """Run a command of the page with the host, the user and the database of a URL."""
    program, *arguments = shlex.split(line)
    if shutil.which(program) is None:
        fail_or_skip(program, "it is not installed")
    command = [program, *(_with_address(word, make_url(url)) for word in arguments)]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr


def _with_address(word: str, url: URL) -> str:
    option, equals, value = word.rpartition("=")
    names = {"database": url.host, "heat": url.username if "user" in option else url.database}
    return f"{option}{equals}{names.get(value) or value}"


def _load_dump(database: str, url: str, folder: Path) -> None:
    drop_all_tables(url)
    run_page_command(PAGE.block_after(RESTORE[database])[0], url, folder)


def _count_calls(cloud: Path) -> int:
    return len(FileCloudAudit.of_directory(cloud).calls) if cloud.exists() else 0


def _never_repeat() -> None:
    raise AssertionError("the API gave no answer")
