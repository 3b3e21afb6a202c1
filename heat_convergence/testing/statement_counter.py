"""A counter of the statements that a database server executes.

Used by tests and benchmarks, which state costs per resource; nothing in the service
depends on it.  BEGIN and PRAGMA are not counted, and commits are counted apart.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from sqlalchemy import event
from sqlalchemy.engine import Connection, Engine
from sqlalchemy.engine.interfaces import ExecuteStyle

_NOT_COUNTED = ("BEGIN", "PRAGMA")
_FIRST_WORDS = re.compile(r"\s*(INSERT INTO|DELETE FROM|UPDATE|SELECT|WITH|\S+)\s*(\S*)", re.I)


class StatementCount:
    """The number of statements, in total and by their first words, and that of commits."""

    def __init__(self) -> None:
        """Start at zero."""
        self.total = 0
        self.commits = 0
        self.by_statement: Counter[str] = Counter()

    def add(self, statement: str, times: int) -> None:
        """Count a statement so many times."""
        if not times:
            return
        match = _FIRST_WORDS.match(statement)
        first_words = " ".join(match.groups()) if match else statement
        self.total += times
        self.by_statement[first_words] += times


@contextmanager
def count_statements(engine: Engine) -> Iterator[StatementCount]:
    """Count the statements that the engine executes inside the block, in any thread."""
    count = StatementCount()

    def note(
        connection: Connection,
        cursor: Any,
        statement: str,
        parameters: Any,
        context: Any,
        executemany: bool,
    ) -> None:
        """Count for SQLAlchemy's event."""
        count.add(statement, count_sent_statements(statement, parameters, context, executemany))

    def note_commit(_connection: Connection) -> None:
        count.commits += 1

    event.listen(engine, "before_cursor_execute", note)
    event.listen(engine, "commit", note_commit)
    try:
        yield count
    finally:
        event.remove(engine, "before_cursor_execute", note)
        event.remove(engine, "commit", note_commit)


def count_sent_statements(statement: str, parameters: Any, context: Any, executemany: bool) -> int:
    """Return how many statements the server receives.

    The arguments are those of SQLAlchemy's event ``before_cursor_execute``.
    """
    if statement.lstrip().upper().startswith(_NOT_COUNTED):
        return 0
    return len(parameters) if executemany and not _joined(context) else 1


def _joined(context: Any) -> bool:
    """Return whether SQLAlchemy or PyMySQL joins many rows into one INSERT."""
    if context is None:
        return False
    if context.execute_style is ExecuteStyle.INSERTMANYVALUES:
        return True
    return bool(context.isinsert and context.dialect.name in ("mysql", "mariadb"))
