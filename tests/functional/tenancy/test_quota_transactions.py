"""The number of stacks is counted in the transaction that adds one, not before it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from heat_convergence.api.services import ApiOptions
from heat_convergence.db.store import SqlStore
from heat_convergence.stacks import quotas
from heat_convergence.testing.sample_rows import stack_row
from tests.functional.harness import LocalService

TEMPLATE = {"heat_template_version": "2018-08-31"}


@pytest.fixture
def service(tmp_path: Any) -> Iterator[LocalService]:
    options = ApiOptions(max_stacks_per_tenant=1)
    service = LocalService(f"sqlite:///{tmp_path}/hc.sqlite", options)
    yield service
    service.close()


@pytest.fixture
def other_request(service: LocalService, monkeypatch: pytest.MonkeyPatch) -> None:
    """Commit another request's stack after the first check and before the transaction."""
    transaction, pending = SqlStore.transaction, [stack_row("other", project_id="p")]

    @contextmanager
    def late(self: SqlStore) -> Iterator[Any]:
        if pending:
            other = pending.pop()
            with transaction(self) as tx:
                tx.stacks.insert(other)
        with transaction(self) as tx:
            yield tx

    monkeypatch.setattr(SqlStore, "transaction", late)


def create(service: LocalService) -> int:
    body = {"stack_name": "s", "template": TEMPLATE}
    return int(service.send("POST", "/stacks", body, leave_pending=True).status_int)


def test_request_that_loses_the_race_is_refused(
    service: LocalService, other_request: None
) -> None:
    assert create(service) == 400


def test_quota_that_is_read_outside_its_transaction_is_noticed(
    service: LocalService, other_request: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The check before the transaction alone is not enough."""
    monkeypatch.setattr(quotas, "check_stack_count", lambda *args, **options: None)
    assert create(service) == 201
