"""The commands of ``docs/operate/installing.rst``, run as they are printed but for names."""

from __future__ import annotations

import json
import shlex
import uuid
from collections.abc import Iterator
from importlib.metadata import entry_points
from pathlib import Path
from types import SimpleNamespace

import pytest
import sqlalchemy as sa
from sqlalchemy.engine import make_url

from tests.conftest import POSTGRESQL
from tests.documented_commands import with_name
from tests.installation_steps import (
    PAGE,
    administrator,
    broker_of_page,
    config_of_page,
    database_of_page,
    run_page_command,
    run_statements,
)


@pytest.fixture
def name() -> str:
    return f"hc_test_{uuid.uuid4().hex[:12]}"


@pytest.fixture
def mariadb(name: str) -> Iterator[str]:
    with database_of_page(name) as host:
        yield host


@pytest.fixture
def broker(name: str) -> Iterator[str]:
    with broker_of_page(name) as host:
        yield host


def test_database_and_broker_of_the_page_serve_the_configuration_of_the_page(
    name: str, mariadb: str, broker: str, tmp_path: Path
) -> None:
    config = tmp_path / "heat-convergence.conf"
    config.write_text(config_of_page(name, mariadb, broker))
    upgrade, doctor = PAGE.block_after("The tables, and a check of everything")
    done = run_page_command(upgrade, config)
    assert done.returncode == 0, done.stderr
    done = run_page_command(f"{doctor} --json", config)
    findings = json.loads(done.stdout)
    # There is no host "keystone" here: everything else works.
    assert {each["subject"] for each in findings if each["level"] == "error"} == {"keystone"}
    assert {"database", "schema", "keys", "broker"} <= {each["subject"] for each in findings}


def test_commands_for_keystone_are_those_of_the_client() -> None:
    """Parse each command as the client does; ``tests/cloud`` runs them with a Keystone."""
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
