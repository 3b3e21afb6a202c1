"""Transactions: commit, rollback, and errors that may be retried at once or later."""

from __future__ import annotations

import ssl
import threading
import time

import pytest
import sqlalchemy as sa
from oslo_config import cfg
from oslo_db import exception as db_exc

from heat_convergence.common.failures import ConcurrentTransaction, StorageRefused, Unavailable
from heat_convergence.db.connection.database import (
    create_database,
    database_from_url,
    wait_until_available,
)
from heat_convergence.testing.statement_counter import count_statements

TABLE = sa.Table(
    "counter",
    sa.MetaData(),
    sa.Column("id", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("value", sa.String(20), nullable=False),
)


@pytest.fixture(params=["sqlite", "memory", "mariadb", "postgresql"])
def database(request, tmp_path):
    urls = {"sqlite": f"sqlite:///{tmp_path}/db.sqlite", "memory": "sqlite://"}
    url = urls.get(request.param) or request.getfixturevalue(f"{request.param}_url")
    database = database_from_url(url)
    TABLE.create(database.engine)
    yield database
    TABLE.drop(database.engine)
    database.close()


def values(database) -> list[str]:
    with database.read() as connection:
        return list(connection.scalars(sa.select(TABLE.c.value).order_by(TABLE.c.id)))


def test_write_block_commits_or_rolls_back(database):
    with database.write() as connection:
        connection.execute(TABLE.insert().values(id=1, value="kept 🙂"))

    def fail() -> None:
        with database.write() as connection:
            connection.execute(TABLE.insert().values(id=2, value="lost"))
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    assert values(database) == ["kept 🙂"]


def test_permanent_error_raises_storage_refused(database):
    with database.write() as connection:
        connection.execute(TABLE.insert().values(id=1, value="a"))
    with pytest.raises(StorageRefused) as refused, database.write() as connection:
        connection.execute(TABLE.insert().values(id=1, value="b"))
    assert isinstance(refused.value.__cause__, db_exc.DBDuplicateEntry)
    assert values(database) == ["a"]


def _count_requests(connection) -> dict[str, int]:
    names = ("Questions", "Com_admin_commands", "Com_commit", "Com_rollback")
    listed = ", ".join(f"'{name}'" for name in names)
    query = f"SHOW SESSION STATUS WHERE variable_name IN ({listed})"
    return {name: int(value) for name, value in connection.exec_driver_sql(query)}


def test_transaction_sends_only_statements_and_commit(mariadb_url):
    database = database_from_url(mariadb_url)
    with database.write() as connection:
        before = _count_requests(connection)
    for _ in range(10):
        with database.write() as connection:
            connection.exec_driver_sql("SELECT 1")
    with database.write() as connection:
        after = _count_requests(connection)
    database.close()
    more = {name: after[name] - before[name] for name in before}
    assert more == {
        "Questions": 10 + 11 + 1,
        "Com_admin_commands": 0,
        "Com_commit": 11,
        "Com_rollback": 0,
    }


def test_ca_certificates_are_loaded_once(mariadb_url, monkeypatch):
    read, load = [], ssl.SSLContext.load_default_certs
    monkeypatch.setattr(
        ssl.SSLContext,
        "load_default_certs",
        lambda context, *arguments: (read.append(context), load(context, *arguments)),
    )
    database = database_from_url(mariadb_url)
    with database.read(), database.read(), database.read():
        assert database.engine.pool.checkedout() == 3
    database.close()
    assert len(read) <= 1


def test_failed_transaction_is_rolled_back(database):
    """Even a transaction whose first statement is refused may hold locks."""
    with database.write() as connection:
        connection.execute(TABLE.insert().values(id=1, value="a"))
    with pytest.raises(StorageRefused), database.write() as connection:
        connection.execute(TABLE.insert().values(id=1, value="b"))
    if database.dialect == "mysql":
        with database.engine.connect() as connection:
            held = "SELECT count(*) FROM information_schema.innodb_trx WHERE trx_mysql_thread_id"
            mine = connection.exec_driver_sql(f"{held} = CONNECTION_ID()").scalar_one()
        assert mine == 0
    with database.write() as connection:
        connection.execute(TABLE.update().values(value="c"))
    assert values(database) == ["c"]


@pytest.mark.parametrize("rest_s", [0.0, 2.0])
def test_idle_connection_is_pinged(mariadb_url, monkeypatch, rest_s):
    database = database_from_url(mariadb_url)
    with database.write() as connection:
        before = _count_requests(connection)
    now = time.monotonic()
    monkeypatch.setattr(time, "monotonic", lambda: now + rest_s)
    with database.write() as connection:
        after = _count_requests(connection)
    database.close()
    assert after["Com_admin_commands"] - before["Com_admin_commands"] == (1 if rest_s else 0)


@pytest.mark.parametrize("server", ["mariadb", "postgresql"])
def test_isolation_level_is_read_committed(request, server):
    database = database_from_url(request.getfixturevalue(f"{server}_url"))
    with database.read() as connection:
        assert connection.get_isolation_level() == "READ COMMITTED"
    database.close()


def test_concurrent_writers_lose_no_update(database):
    with database.write() as connection:
        connection.execute(TABLE.insert().values(id=1, value="0"))

    def add() -> None:
        for _ in range(20):
            with database.write() as connection:
                row = sa.select(TABLE.c.value).where(TABLE.c.id == 1).with_for_update()
                value = int(connection.execute(row).scalar_one())
                connection.execute(TABLE.update().values(value=str(value + 1)))

    threads = [threading.Thread(target=add) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert values(database) == ["80"]


def test_statement_count_matches_server(database):
    rows = [{"id": number, "value": "x"} for number in range(10)]
    joined = database.dialect != "sqlite"
    with count_statements(database.engine) as count:
        with database.write() as connection:
            connection.execute(TABLE.insert(), rows)
        assert count.total == (1 if joined else 10)
        values(database)
    assert count.by_statement["INSERT INTO counter"] == (1 if joined else 10)
    assert sum(count.by_statement.values()) == count.total
    before = count.total
    values(database)
    assert count.total == before


@pytest.mark.parametrize(
    "url",
    [
        "mysql+pymysql://root@127.0.0.1:1/x",
        "postgresql+psycopg2://postgres@127.0.0.1:1/x",
        "sqlite:////nonexistent/folder/x.sqlite",
    ],
)
def test_unreachable_server_raises_unavailable(url):
    database = database_from_url(url)
    with pytest.raises(Unavailable):
        database.ping()


def test_deadlock_raises_concurrent_transaction(mariadb_url):
    """Two transactions lock two rows in opposite orders: one of them must lose."""
    database = database_from_url(mariadb_url)
    TABLE.create(database.engine)
    with database.write() as connection:
        connection.execute(TABLE.insert(), [{"id": n, "value": "x"} for n in (1, 2)])
    both_hold, ended = threading.Barrier(2, timeout=20), []

    def cross(first: int, second: int) -> None:
        try:
            with database.write() as connection:
                for number in (first, second):
                    row = TABLE.update().where(TABLE.c.id == number)
                    connection.execute(row.values(value="y"))
                    if number == first:
                        both_hold.wait()
            ended.append("committed")
        except ConcurrentTransaction:
            ended.append("refused")

    threads = [threading.Thread(target=cross, args=order) for order in ((1, 2), (2, 1))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    TABLE.drop(database.engine)
    database.close()
    assert sorted(ended) == ["committed", "refused"]


def test_connection_option_is_required():
    conf = cfg.ConfigOpts()
    conf([], default_config_files=[], default_config_dirs=[])
    with pytest.raises(cfg.RequiredOptError):
        create_database(conf)


def test_wait_until_available_backs_off():
    pauses: list[float] = []
    answers = iter([Unavailable("a"), Unavailable("b"), None])

    def check() -> None:
        answer = next(answers)
        if answer is not None:
            raise answer

    assert wait_until_available(check, wait=pauses.append, is_stopping=lambda: False)
    assert pauses == [0.5, 1.0]


def test_wait_until_available_stops_on_shutdown():
    stop = threading.Event()

    def check() -> None:
        raise Unavailable("never")

    assert not wait_until_available(check, wait=lambda _s: stop.set(), is_stopping=stop.is_set)
