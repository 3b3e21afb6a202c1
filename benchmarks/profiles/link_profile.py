#!/usr/bin/env python3
"""The profile of one link of a chain: its statements in order, and its processor time.

    python -m benchmarks.profiles.link_profile --database mariadb --links 200

Runs the engine and the observer in one process, one message at a time, on a database of its own:
what a link costs without the bus and without waiting for other processes.
"""

from __future__ import annotations

import argparse
import cProfile
import pstats
import re
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import sqlalchemy as sa

from benchmarks.temporary_backends import temporary_database
from heat_convergence.db.connection.database import database_from_url
from heat_convergence.db.store import SqlStore
from heat_convergence.db.tables import metadata
from heat_convergence.resources.builtin.test_resource import TestResource
from heat_convergence.resources.registry import ResourceTypeRegistry
from heat_convergence.template.evaluation.resource_definition import ResourceDefinition
from heat_convergence.template.expression import Expression
from heat_convergence.testing.in_process_service import InProcessService

WARM_UP_LINKS = 10
_SHOWN_CHARS = 90
_SHOWN_FUNCTIONS = 30
_BLANKS = re.compile(r"\s+")
_INNERMOST = re.compile(r"\([^()]*\)")
_COLUMNS = re.compile(r"^SELECT .*? FROM ", re.IGNORECASE)


def chain(size: int) -> dict[str, ResourceDefinition]:
    """Return the definitions of a chain, of which each reads the one before."""
    found: dict[str, ResourceDefinition] = {}
    for at in range(size):
        needs = frozenset({f"r{at - 1}"} if at else ())
        reads = Expression("get_attr", "attr_optional_name", [f"r{at - 1}", "output"])
        found[f"r{at}"] = ResourceDefinition(
            name=f"r{at}",
            type=TestResource.name,
            properties={"value": reads if at else "start"},
            requires=needs,
            referenced_names=needs,
        )
    return found


@contextmanager
def statements_of(engine: sa.Engine, sent: list[str]) -> Iterator[None]:
    """Append what is sent to the database, with the ends of its transactions, to a list."""

    def note(_c: Any, _cursor: Any, statement: str, _p: Any, _context: Any, _many: bool) -> None:
        text = _BLANKS.sub(" ", statement)
        while _INNERMOST.search(text):
            text = _INNERMOST.sub("[…]", text)
        sent.append(_COLUMNS.sub("SELECT … FROM ", text)[:_SHOWN_CHARS])

    def note_commit(_connection: Any) -> None:
        sent.append("COMMIT")

    def note_rollback(_connection: Any) -> None:
        sent.append("ROLLBACK")

    listeners: dict[str, Callable[..., Any]] = {
        "before_cursor_execute": note,
        "commit": note_commit,
        "rollback": note_rollback,
    }
    for name, listener in listeners.items():
        sa.event.listen(engine, name, listener)
    try:
        yield
    finally:
        for name, listener in listeners.items():
            sa.event.remove(engine, name, listener)


def processor_ms(service: InProcessService, links: int) -> dict[str, float]:
    """Handle the messages of so many links; return the milliseconds by method and link."""
    used: dict[str, float] = defaultdict(float)
    for _ in range(2 * links):
        method, started_s = service.bus.pending[0].method, time.process_time()
        service.handle_next()
        used[method] += time.process_time() - started_s
    return {method: 1000 * spent_s / links for method, spent_s in used.items()}


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the profile."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--database", default="sqlite")
    parser.add_argument("--links", type=int, default=100)
    options = parser.parse_args(arguments)
    with (
        tempfile.TemporaryDirectory(prefix="hc-link-") as folder,
        temporary_database(options.database, Path(folder)) as url,
    ):
        database = database_from_url(url)
        try:
            metadata.create_all(database.engine)
            service = InProcessService(SqlStore(database), ResourceTypeRegistry([TestResource()]))
            # One more link is listed, and the last ones are left out, which end the stack.
            service.create(chain(WARM_UP_LINKS + 2 * options.links + 3), name="profile")
            processor_ms(service, WARM_UP_LINKS)
            sent: list[str] = []
            with statements_of(database.engine, sent):
                processor_ms(service, 1)
            print("\n".join(sent))
            used = processor_ms(service, options.links)
            print(f"\nprocessor ms: {', '.join(f'{key} {ms:.2f}' for key, ms in used.items())}")
            profile = cProfile.Profile()
            profile.runcall(processor_ms, service, options.links)
            pstats.Stats(profile).sort_stats("tottime").print_stats(_SHOWN_FUNCTIONS)
        finally:
            database.close()
    return 0


if __name__ == "__main__":
    sys.exit(main())
