"""The commands of ``docs/operate/installing.rst``, run as they are printed but for names."""

from __future__ import annotations

import json
import re
import shlex
import shutil
import subprocess
import sys
import uuid
from collections.abc import Iterator
from importlib.metadata import entry_points
from pathlib import Path
from types import SimpleNamespace

import pytest
import sqlalchemy as sa
from sqlalchemy.engine import make_url

from tests.conftest import MARIADB, POSTGRESQL, RABBITMQ, fail_or_skip
from tests.documented_commands import DocumentedPage, with_name

PAGE = DocumentedPage("operate/installing.rst")


@pytest.fixture
def name() -> str:
    return f"hc_test_{uuid.uuid4().hex[:12]}"


def administrator(server: str, service: str) -> sa.Engine:
    engine = sa.create_engine(server, isolation_level="AUTOCOMMIT", poolclass=sa.pool.NullPool)
    try:
        engine.connect().close()
    except sa.exc.OperationalError as error:
        fail_or_skip(service, str(error).splitlines()[0])
    return engine


def run_statements(engine: sa.Engine, statements: list[str]) -> None:
    with engine.connect() as connection:
        for statement in statements:
            connection.exec_driver_sql(statement.rstrip(";").replace("%", "%%"))


@pytest.fixture
def mariadb(name: str) -> Iterator[str]:
    engine = administrator(MARIADB, "MariaDB")
    run_statements(
        engine, [with_name(line, name) for line in PAGE.block_after("MariaDB or MySQL, as")]
    )
    yield make_url(MARIADB).host or "127.0.0.1"
    run_statements(engine, [f"DROP DATABASE {name}", f"DROP USER '{name}'@'%'"])


@pytest.fixture
def broker(name: str) -> Iterator[str]:
    control = shutil.which("rabbitmqctl")
    if control is None:
        fail_or_skip("RabbitMQ", "rabbitmqctl is not installed")
    for line in PAGE.block_after("RabbitMQ. The service needs"):
        subprocess.run(shlex.split(with_name(line, name)), check=True, capture_output=True)
    yield make_url(RABBITMQ).host or "127.0.0.1"
    for command in (["delete_vhost", name], ["delete_user", name]):
        subprocess.run([str(control), *command], check=True, capture_output=True)


def test_database_and_broker_of_the_page_serve_the_configuration_of_the_page(
    name: str, mariadb: str, broker: str, tmp_path: Path
) -> None:
    lines = PAGE.block_after("the same on every host, readable by the daemons'")
    text = "\n".join(lines)
    hosts = text.replace("@broker:", f"@{broker}:").replace("@database/", f"@{mariadb}/")
    config = tmp_path / "heat-convergence.conf"
    config.write_text(
        re.sub(
            r"^(transport_url|connection) .*$",
            lambda found: with_name(found.group(), name),
            hosts,
            flags=re.MULTILINE,
        )
    )
    upgrade, doctor = PAGE.block_after("The tables, and a check of everything")
    done = run_page_command(upgrade, config)
    assert done.returncode == 0, done.stderr
    done = run_page_command(f"{doctor} --json", config)
    findings = json.loads(done.stdout)
    # There is no host "keystone" here: everything else works.
    assert {each["subject"] for each in findings if each["level"] == "error"} == {"keystone"}
    assert {"database", "schema", "keys", "broker"} <= {each["subject"] for each in findings}


def run_page_command(line: str, config: Path) -> subprocess.CompletedProcess[str]:
    program, *arguments = shlex.split(line)
    script = str(Path(sys.executable).with_name(program))
    command = [script, "--config-file", str(config), *arguments]
    return subprocess.run(command, capture_output=True, text=True)


def test_commands_for_keystone_are_those_of_the_client() -> None:
    """Parse each command as the client does, since there is no Keystone here."""
    installed = {each.name: each for each in entry_points(group="openstack.identity.v3")}
    lines = PAGE.block_after("in which stacks have users, with its administrator")
    assert len(lines) == 10
    for line in lines:
        program, *words = shlex.split(line)
        assert program == "openstack"
        name = max((n for n in _names(words) if n in installed), key=len)
        command = installed[name].load()(SimpleNamespace(), None)
        command.get_parser("openstack").parse_args(words[name.count("_") + 1 :])


def _names(words: list[str]) -> list[str]:
    return ["_".join(words[:count]) for count in range(1, 4)]


def test_statements_for_postgresql(name: str) -> None:
    engine = administrator(POSTGRESQL, "PostgreSQL")
    run_statements(engine, [with_name(line, name) for line in PAGE.block_after("\nPostgreSQL:")])
    login = make_url(POSTGRESQL).set(username=name, password="database-password", database=name)
    own = sa.create_engine(login, poolclass=sa.pool.NullPool)
    try:
        with own.begin() as connection:
            connection.exec_driver_sql("CREATE TABLE probe (id integer)")
    finally:
        own.dispose()
        run_statements(engine, [f"DROP DATABASE {name} WITH (FORCE)", f"DROP ROLE {name}"])
