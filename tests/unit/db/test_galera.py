"""Recognition of connections to a node of a Galera cluster, and their settings."""

from __future__ import annotations

from typing import Any

import pytest
import sqlalchemy as sa

from heat_convergence.db.connection.galera import detect_galera, is_on_galera

SYNC_WAIT = "SET SESSION wsrep_sync_wait = 7"


class FakeServer:
    """A server behind SQLite's driver that has the variable ``wsrep_on``, or does not."""

    def __init__(self, answer: tuple[str, str] | None, sync_wait: int | None = None) -> None:
        self.statements: list[str] = []
        self._answer = answer
        self._engine = sa.create_engine("sqlite://")
        detect_galera(self._engine, sync_wait=sync_wait)
        connect = self._engine.dialect.connect
        self._engine.dialect.connect = lambda *args, **more: _Connection(  # type: ignore[method-assign]
            connect(*args, **more), self
        )

    def answer(self, statement: str) -> tuple[str, str] | None:
        self.statements.append(statement)
        return self._answer

    def is_galera(self) -> bool:
        with self._engine.connect() as connection:
            return is_on_galera(connection)


class _Connection:
    def __init__(self, real: Any, server: FakeServer) -> None:
        self._real, self._server = real, server

    def cursor(self) -> Any:
        return _Cursor(self._real.cursor(), self._server)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._real, name)


class _Cursor:
    def __init__(self, real: Any, server: FakeServer) -> None:
        self._real, self._server = real, server
        self._found: Any = None

    def execute(self, statement: str, *parameters: Any) -> Any:
        if "wsrep" in statement:
            self._found = self._server.answer(statement)
            return self
        return self._real.execute(statement, *parameters)

    def fetchone(self) -> Any:
        return self._found

    def __getattr__(self, name: str) -> Any:
        return getattr(self._real, name)


@pytest.mark.parametrize("answer", [None, ("wsrep_on", "OFF")])
def test_single_server_is_left_as_it_is(answer: tuple[str, str] | None) -> None:
    server = FakeServer(answer)
    assert not server.is_galera()
    assert SYNC_WAIT not in server.statements


def test_node_applies_what_others_committed_before_a_transaction() -> None:
    server = FakeServer(("wsrep_on", "ON"))
    assert server.is_galera()
    assert SYNC_WAIT in server.statements


def test_option_of_the_operator_is_kept() -> None:
    server = FakeServer(("wsrep_on", "ON"), sync_wait=0)
    assert server.is_galera()
    assert SYNC_WAIT not in server.statements
