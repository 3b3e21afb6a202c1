"""Services that tests share: empty databases and an empty virtual host of the broker.

Each is created for one test session and dropped after it.  If a service does not
answer, its tests fail where the environment has ``CI=true``, and are skipped elsewhere.
"""

from __future__ import annotations

import gc
import os
import shutil
import subprocess
import uuid
from collections.abc import Callable, Generator, Iterator

import pytest
import sqlalchemy as sa
from amqp.exceptions import AMQPError
from kombu import Connection as BrokerConnection
from sqlalchemy.engine import make_url

from heat_convergence.common.evaluation import evaluation_guard

MARIADB = os.environ.get("HEAT_CONVERGENCE_TEST_MARIADB", "mysql+pymysql://root@127.0.0.1:3306/")
POSTGRESQL = os.environ.get(
    "HEAT_CONVERGENCE_TEST_POSTGRESQL", "postgresql+psycopg2://postgres@127.0.0.1:5432/postgres"
)
RABBITMQ = os.environ.get("HEAT_CONVERGENCE_TEST_RABBITMQ", "amqp://guest:guest@127.0.0.1:5672/")
CONNECT_TIMEOUT_S = 5

evaluation_guard.reject_evaluation_under_locks()


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None]:
    """Keep the garbage collector from visiting the imported modules again and again.

    It would take a fifth of the time of collection, and find nothing to free.
    """
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()
        gc.freeze()


@pytest.fixture(autouse=True)
def no_evaluation_under_locks() -> Iterator[None]:
    """Fail a test in which an expression was evaluated while locks were held.

    The exception alone could be caught by an error boundary.
    """
    yield
    found, evaluation_guard.violations[:] = list(evaluation_guard.violations), []
    assert found == []


def fail_or_skip(service: str, error: Exception | str) -> None:
    """Fail or skip a test whose service is missing."""
    reason = f"{service} does not answer: {error}"
    if os.environ.get("CI", "").lower() == "true":
        pytest.fail(reason)
    pytest.skip(reason)


def fresh_database(server: str, service: str) -> Iterator[str]:
    """Yield the URL of a new, empty database, dropped afterwards."""
    name = f"hc_test_{uuid.uuid4().hex[:12]}"
    engine = sa.create_engine(server, isolation_level="AUTOCOMMIT", poolclass=sa.pool.NullPool)
    try:
        with engine.connect() as connection:
            connection.exec_driver_sql(f"CREATE DATABASE {name}")
    except sa.exc.OperationalError as error:
        fail_or_skip(service, str(error).splitlines()[0])
    yield make_url(server).set(database=name).render_as_string(hide_password=False)
    force = " WITH (FORCE)" if engine.dialect.name == "postgresql" else ""
    with engine.connect() as connection:
        connection.exec_driver_sql(f"DROP DATABASE {name}{force}")


@pytest.fixture(scope="session")
def mariadb_url() -> Iterator[str]:
    yield from fresh_database(MARIADB, "MariaDB")


@pytest.fixture(scope="session")
def postgresql_url() -> Iterator[str]:
    yield from fresh_database(POSTGRESQL, "PostgreSQL")


@pytest.fixture(scope="session")
def sqlite_url(tmp_path_factory: pytest.TempPathFactory) -> str:
    return f"sqlite:///{tmp_path_factory.mktemp('db')}/test.sqlite"


@pytest.fixture(scope="session")
def rabbit_url() -> Iterator[str]:
    yield from fresh_virtual_host()


def fresh_virtual_host() -> Iterator[str]:
    """Yield an oslo.messaging URL, with its own virtual host if rabbitmqctl is installed."""
    try:
        with BrokerConnection(RABBITMQ, connect_timeout=CONNECT_TIMEOUT_S) as broker:
            broker.ensure_connection(max_retries=1, timeout=CONNECT_TIMEOUT_S)
    except (OSError, AMQPError) as error:
        fail_or_skip("RabbitMQ", error)
    url = make_url(RABBITMQ).set(drivername="rabbit")
    control = shutil.which("rabbitmqctl")
    if control is None:
        yield url.render_as_string(hide_password=False)
        return
    vhost = f"hc_test_{uuid.uuid4().hex[:12]}"
    run = _runner(control)
    run("add_vhost", vhost)
    run("set_permissions", "-p", vhost, str(url.username), ".*", ".*", ".*")
    yield url.set(database=vhost).render_as_string(hide_password=False)
    run("delete_vhost", vhost)


def _runner(command: str) -> Callable[..., None]:
    def run(*arguments: str) -> None:
        subprocess.run([command, "-q", *arguments], check=True, capture_output=True, timeout=60)

    return run
