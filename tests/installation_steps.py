"""The steps of ``docs/operate/installing.rst``, run as they are printed but for names.

Used where there is a Keystone, and where there is none.
"""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import sqlalchemy as sa
from sqlalchemy.engine import make_url

from tests.conftest import MARIADB, RABBITMQ, fail_or_skip
from tests.documented_commands import DocumentedPage, with_name

PAGE = DocumentedPage("operate/installing.rst")


def administrator(server: str, service: str) -> sa.Engine:
    """Return an engine for the administrator of a database server."""
    engine = sa.create_engine(server, isolation_level="AUTOCOMMIT", poolclass=sa.pool.NullPool)
    try:
        engine.connect().close()
    except sa.exc.OperationalError as error:
        fail_or_skip(service, str(error).splitlines()[0])
    return engine


def run_statements(engine: sa.Engine, statements: list[str]) -> None:
    """Run SQL statements."""
    with engine.connect() as connection:
        for statement in statements:
            connection.exec_driver_sql(statement.rstrip(";").replace("%", "%%"))


@contextmanager
def database_of_page(name: str) -> Iterator[str]:
    """Create the database as the page says; yield the host of its server."""
    engine = administrator(MARIADB, "MariaDB")
    run_statements(
        engine, [with_name(line, name) for line in PAGE.block_after("MariaDB or MySQL, as")]
    )
    try:
        yield make_url(MARIADB).host or "127.0.0.1"
    finally:
        run_statements(engine, [f"DROP DATABASE {name}", f"DROP USER '{name}'@'%'"])


@contextmanager
def broker_of_page(name: str) -> Iterator[str]:
    """Create the virtual host and its user as the page says; yield the host of the broker."""
    control = shutil.which("rabbitmqctl")
    if control is None:
        fail_or_skip("RabbitMQ", "rabbitmqctl is not installed")
    for line in PAGE.block_after("RabbitMQ. The service needs"):
        subprocess.run(shlex.split(with_name(line, name)), check=True, capture_output=True)
    try:
        yield make_url(RABBITMQ).host or "127.0.0.1"
    finally:
        for command in (["delete_vhost", name], ["delete_user", name]):
            subprocess.run([str(control), *command], check=True, capture_output=True)


def config_of_page(name: str, database: str, broker: str, keystone: str = "keystone:5000") -> str:
    """Return the configuration of the page.

    Args:
        name: The name of the database, the virtual host and their user.
        database: The host of the database.
        broker: The host of the broker.
        keystone: The address of Keystone.
    """
    text = "\n".join(PAGE.block_after("the same on every host, readable by the daemons'"))
    text = text.replace("@broker:", f"@{broker}:").replace("@database/", f"@{database}/")
    text = text.replace("http://keystone:5000", f"http://{keystone}")
    return re.sub(
        r"^(transport_url|connection) .*$",
        lambda found: with_name(found.group(), name),
        text,
        flags=re.MULTILINE,
    )


def split_page_command(line: str, *config: Path) -> list[str]:
    """Return the command of a line of the page with configuration files of its own."""
    program, *arguments = shlex.split(line)
    script = str(Path(sys.executable).with_name(program))
    files = [f"--config-file={each}" for each in config]
    return [script, *files, *arguments]


def run_page_command(line: str, *config: Path) -> subprocess.CompletedProcess[str]:
    """Run a command of the page with configuration files of its own."""
    return subprocess.run(split_page_command(line, *config), capture_output=True, text=True)
