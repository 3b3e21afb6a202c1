"""Databases and virtual hosts for one run, deleted after it.

Needs an account that may create databases, and ``rabbitmqctl`` for a virtual host.
"""

from __future__ import annotations

import shutil
import signal
import subprocess
import sys
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType

import sqlalchemy as sa
from sqlalchemy.engine import make_url

DATABASE_URLS = {
    "mariadb": "mysql+pymysql://root@127.0.0.1:3306/",
    "postgresql": "postgresql+psycopg2://postgres@127.0.0.1:5432/postgres",
}
DEFAULT_BROKER_URL = "rabbit://guest:guest@127.0.0.1:5672/"


def clean_up_on_sigterm() -> None:
    """Turn SIGTERM into an exit that leaves all blocks, which delete what is temporary.

    The blocks take a while, and ``timeout`` repeats a signal that the benchmark has got already:
    another one is ignored.
    """

    def leave(number: int, _frame: FrameType | None) -> None:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        sys.exit(128 + number)

    signal.signal(signal.SIGTERM, leave)


@contextmanager
def temporary_database(database: str, folder: Path) -> Iterator[str]:
    """Yield the URL of a new database.

    ``database`` is ``sqlite``, a key of ``DATABASE_URLS``, or the URL of a server.
    """
    if database == "sqlite":
        yield f"sqlite:///{folder}/benchmark.sqlite"
        return
    server_url = make_url(DATABASE_URLS.get(database, database))
    name = f"hc_bench_{uuid.uuid4().hex[:8]}"
    engine = sa.create_engine(server_url, isolation_level="AUTOCOMMIT", poolclass=sa.pool.NullPool)
    with engine.connect() as connection:
        connection.exec_driver_sql(f"CREATE DATABASE {name}")
    force = " WITH (FORCE)" if server_url.get_backend_name() == "postgresql" else ""
    try:
        yield server_url.set(database=name).render_as_string(hide_password=False)
    finally:
        with engine.connect() as connection:
            connection.exec_driver_sql(f"DROP DATABASE {name}{force}")


@contextmanager
def temporary_vhost(url: str) -> Iterator[str]:
    """Yield the URL of a new virtual host; without ``rabbitmqctl``, ``url`` itself."""
    rabbitmqctl = shutil.which("rabbitmqctl")
    if rabbitmqctl is None:
        yield url
        return
    parsed = make_url(url)
    name = f"hc_bench_{uuid.uuid4().hex[:8]}"
    _run(rabbitmqctl, "add_vhost", name)
    _run(rabbitmqctl, "set_permissions", "-p", name, str(parsed.username), ".*", ".*", ".*")
    try:
        yield parsed.set(database=name).render_as_string(hide_password=False)
    finally:
        _run(rabbitmqctl, "delete_vhost", name)


def _run(*command: str) -> None:
    subprocess.run(command, check=True, capture_output=True, timeout=60)
