#!/usr/bin/env python3
"""The time that a link of a chain takes without any work of this service.

    python -m benchmarks.profiles.link_floor --database mariadb --links 300

Two processes send each other messages by the service's bus, and each message is handled in one
transaction of the service's database, as an engine and an observer do.  What is left out is what
they do between the statements.  A line is printed for each number of statements of a link, each
of which reads one row, but the last of a transaction, which changes it; the commits come on top.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path

import sqlalchemy as sa
from oslo_config import cfg

from benchmarks.temporary_backends import (
    DEFAULT_BROKER_URL,
    clean_up_on_sigterm,
    temporary_database,
    temporary_vhost,
)
from heat_convergence.cli import concurrency
from heat_convergence.convergence.ports.bus import ResourceHint

ENGINE, OBSERVER = "engine", "observer"
_TABLE = sa.Table(
    "link_floor",
    sa.MetaData(),
    sa.Column("id", sa.String(36), primary_key=True),
    sa.Column("number", sa.Integer),
)
_ROW = _TABLE.c.id == sa.bindparam("row_id")
_READ = sa.select(_TABLE).where(_ROW)
_CHANGE = _TABLE.update().where(_ROW).values(number=sa.bindparam("new_number"))
_WARM_UP_LINKS = 50
_GIVE_UP_S = 120


class LinkHandler:
    """Handles messages as engine or as observer, and answers each with one to the other role.

    Attributes:
        handled: the number of messages so far.
        started_at: when those for warming up had been handled.
    """

    def __init__(self, options: argparse.Namespace) -> None:
        database = import_module("heat_convergence.db.connection.database")
        self._database = database.database_from_url(options.database)
        self._statements = options.statements
        transport = import_module("heat_convergence.rpc.transport")
        transport.set_library_defaults()
        self.transport = transport.create_transport(cfg.ConfigOpts(), url=options.broker)
        self.bus = import_module("heat_convergence.rpc.bus").RpcBus(self.transport)
        self.handled = 0
        self.started_at = 0.0

    def converge(self, hints: Sequence[ResourceHint]) -> None:
        """Handle a message to the engine."""
        self._run_statements(hints[0])
        self.bus.observe(hints)

    def observe(self, hints: Sequence[ResourceHint]) -> None:
        """Handle a message to the observer."""
        self._run_statements(hints[0])
        self.bus.converge(hints)

    def _run_statements(self, hint: ResourceHint) -> None:
        self.handled += 1
        if self.handled == _WARM_UP_LINKS:
            self.started_at = time.monotonic()
        if self._statements:
            row = {"row_id": hint.resource_ids[0]}
            with self._database.write() as connection:
                for _ in range(self._statements - 1):
                    connection.execute(_READ, row).all()
                connection.execute(_CHANGE, {**row, "new_number": self.handled})


def work(options: argparse.Namespace) -> None:
    """Handle messages of a role; the engine prints the milliseconds of a link and ends."""
    concurrency.set_up_backend(options.concurrency)
    server = import_module("heat_convergence.rpc.server")
    handler = LinkHandler(options)
    is_observer = options.role == OBSERVER
    create = server.create_observer_server if is_observer else server.create_engine_server
    create(handler.transport, handler).start()
    print("ready", flush=True)
    last = _WARM_UP_LINKS + options.links
    while is_observer or handler.handled < last:
        time.sleep(0.01)
    links = handler.handled - _WARM_UP_LINKS
    print(round(1000 * (time.monotonic() - handler.started_at) / links, 2), flush=True)


def measure(options: argparse.Namespace, database: str, statements: tuple[int, int]) -> str:
    """Return the milliseconds of a link with so many statements in engine and observer."""
    with temporary_vhost(options.broker) as broker:
        passed_on = ["--database", database, "--broker", broker, "--links", str(options.links)]
        passed_on += ["--concurrency", options.concurrency]
        command = [sys.executable, "-m", "benchmarks.profiles.link_floor", *passed_on]
        processes = [
            subprocess.Popen(
                [*command, "--role", role, "--statements", str(count)],
                stdout=subprocess.PIPE,
                text=True,
            )
            for role, count in zip((ENGINE, OBSERVER), statements, strict=True)
        ]
        try:
            for process in processes:
                assert process.stdout is not None
                process.stdout.readline()
            first = LinkHandler(argparse.Namespace(database=database, broker=broker, statements=0))
            first.bus.converge([ResourceHint("stack", 1, ("row",))])
            first.transport.cleanup()
            return processes[0].communicate(timeout=_GIVE_UP_S)[0].strip()
        finally:
            for process in processes:
                process.kill()
                process.wait()


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the milliseconds of a link for some numbers of statements."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--database", default="mariadb")
    parser.add_argument("--broker", default=DEFAULT_BROKER_URL)
    parser.add_argument("--concurrency", default="eventlet", choices=["eventlet", "threading"])
    parser.add_argument("--links", type=int, default=300)
    parser.add_argument("--role", choices=[ENGINE, OBSERVER], help=argparse.SUPPRESS)
    parser.add_argument("--statements", type=int, default=0, help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if options.role:
        work(options)
        return 0
    clean_up_on_sigterm()
    with (
        tempfile.TemporaryDirectory(prefix="hc-floor-") as folder,
        temporary_database(options.database, Path(folder)) as url,
    ):
        engine = sa.create_engine(url)
        _TABLE.metadata.create_all(engine)
        with engine.begin() as connection:
            connection.execute(_TABLE.insert(), {"id": "row", "number": 0})
        engine.dispose()
        for statements in ((0, 0), (1, 1), (2, 2), (4, 7)):
            found = measure(options, url, statements)
            print(f"{sum(statements)} statements, 2 messages: {found} ms", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
