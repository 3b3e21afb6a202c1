"""Stacks that requests of a project create at the same time are stored in one transaction."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

import pytest
from webob import Request

from heat_convergence.api.app import build_app
from heat_convergence.api.controllers import new_stacks
from heat_convergence.api.services import ApiOptions
from heat_convergence.db.store import SqlStore
from tests.functional.harness import LocalService
from tests.queued_calls import queued_calls

RESOURCES = {f"r{number}": {"type": "OS::Heat::TestResource"} for number in range(3)}
LARGE = {
    f"r{number}": {"type": "OS::Heat::TestResource"} for number in range(new_stacks.SMALL + 1)
}


class Requests:
    """Requests that come one after the other while the transaction of the first is at work.

    Attributes:
        transactions: the number of transactions after the first.
    """

    def __init__(self, service: LocalService) -> None:
        self.service = service
        # That of the service answers one request at a time.
        self._application = build_app(service.services)
        self.transactions = 0

    def send_amid_first(self, bodies: Sequence[dict[str, Any]]) -> list[int]:
        """Return the codes of the answers to requests that create stacks."""
        answers: list[Future[int]] = []

        def send_all() -> None:
            assert queued.acquire(timeout=10)  # the first
            for body in bodies:
                answers.append(pool.submit(self.create, body))
                # One that waits for no other ends.
                answers[-1].add_done_callback(lambda _answer: queued.release())
                assert queued.acquire(timeout=10)

        with (
            queued_calls() as queued,
            self._amid_first_transaction(send_all),
            ThreadPoolExecutor() as pool,
        ):
            assert self.create(stack("first")) == 201
        return [answer.result() for answer in answers]

    def create(self, body: dict[str, Any]) -> int:
        request = Request.blank("/v1/p/stacks", method="POST")
        request.json = body
        return int(request.get_response(self._application).status_int)

    @contextmanager
    def _amid_first_transaction(self, send_all: Any) -> Iterator[None]:
        transaction, first = SqlStore.transaction, [send_all]

        @contextmanager
        def counted(store: SqlStore) -> Iterator[Any]:
            if first:
                first.pop()()
            else:
                self.transactions += 1
            with transaction(store) as tx:
                yield tx

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(SqlStore, "transaction", counted)
            yield


def stack(name: str, resources: dict[str, Any] = RESOURCES) -> dict[str, Any]:
    template = {"heat_template_version": "2018-08-31", "resources": resources}
    return {"stack_name": name, "template": template}


@pytest.fixture
def limit() -> int:
    """The number of stacks that a project may have."""
    return 100


@pytest.fixture
def requests(tmp_path: Any, limit: int) -> Iterator[Requests]:
    options = ApiOptions(max_stacks_per_tenant=limit)
    service = LocalService(f"sqlite:///{tmp_path}/hc.sqlite", options)
    yield Requests(service)
    service.close()


def names_and_states(service: LocalService) -> dict[str, str]:
    stacks = service.send("GET", "/stacks").json["stacks"]
    return {each["stack_name"]: each["stack_status"] for each in stacks}


def test_stacks_that_come_meanwhile_share_a_transaction(requests: Requests) -> None:
    assert requests.send_amid_first([stack("a"), stack("b"), stack("c")]) == [201] * 3
    assert requests.transactions == 1
    requests.service.run_until_idle()
    assert names_and_states(requests.service) == dict.fromkeys(
        ("first", "a", "b", "c"), "CREATE_COMPLETE"
    )


def test_stacks_that_share_a_transaction_share_messages(
    requests: Requests, monkeypatch: pytest.MonkeyPatch
) -> None:
    bus = type(requests.service.services.bus)
    converge = bus.converge
    stacks_of_messages = []

    def counted(self: Any, hints: Any) -> None:
        stacks_of_messages.append(len(hints))
        converge(self, hints)

    monkeypatch.setattr(bus, "converge", counted)
    assert requests.send_amid_first([stack("a"), stack("b"), stack("c")]) == [201] * 3
    # Those of the three are two, so that two engines work at them.
    assert sorted(stacks_of_messages) == [1, 1, 2]


def test_a_name_that_is_taken_meanwhile_fails_its_own_request_alone(requests: Requests) -> None:
    bodies = [stack("a"), stack("b"), stack("a"), stack("c")]
    assert sorted(requests.send_amid_first(bodies)) == [201, 201, 201, 409]
    assert names_and_states(requests.service).keys() == {"first", "a", "b", "c"}


@pytest.mark.parametrize("limit", [3])
def test_the_quota_is_exact(requests: Requests) -> None:
    bodies = [stack("a"), stack("b"), stack("c")]
    assert sorted(requests.send_amid_first(bodies)) == [201, 201, 400]
    assert len(names_and_states(requests.service)) == 3


def test_no_stack_waits_for_a_large_one_or_the_other_way_round(requests: Requests) -> None:
    assert requests.send_amid_first([stack("large", LARGE), stack("a"), stack("b")]) == [201] * 3
    assert requests.transactions == 2
