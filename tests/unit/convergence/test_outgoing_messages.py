"""Messages about several stacks that are sent as one."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from heat_convergence.convergence.lifecycle.outgoing_messages import (
    MOST_STACKS,
    OutgoingMessage,
    Recipient,
    send_messages,
)
from heat_convergence.convergence.ports.bus import ResourceHint
from heat_convergence.convergence.ports.settings import ConvergenceSettings

SETTINGS = ConvergenceSettings(batch_size=10)
OBSERVER = Recipient.OBSERVER


class SentMessages:
    """A bus that keeps the stacks of each message."""

    def __init__(self) -> None:
        self.to_engines: list[list[str]] = []
        self.to_observers: list[list[str]] = []
        self.hints: list[ResourceHint] = []

    def converge(self, hints: Sequence[ResourceHint]) -> None:
        self.to_engines.append([hint.stack_id for hint in hints])
        self.hints += hints

    def observe(self, hints: Sequence[ResourceHint]) -> None:
        self.to_observers.append([hint.stack_id for hint in hints])
        self.hints += hints


def message(
    stack_id: str,
    recipient: Recipient = Recipient.ENGINE,
    *,
    count: int = 1,
    project_id: str | None = "p",
) -> OutgoingMessage:
    ids = tuple(f"{stack_id}{number}" for number in range(count))
    return OutgoingMessage(stack_id, 1, ids, recipient, project_id)


def send(*messages: OutgoingMessage, settings: ConvergenceSettings = SETTINGS) -> SentMessages:
    bus = SentMessages()
    send_messages(bus, messages, settings)
    named = sorted(row_id for hint in bus.hints for row_id in hint.resource_ids)
    assert named == sorted(row_id for each in messages for row_id in each.resource_ids)
    return bus


def test_jobs_of_several_stacks_are_divided_among_two_messages() -> None:
    assert send(*map(message, "abcde")).to_engines == [["a", "b", "c"], ["d", "e"]]
    assert send(message("a")).to_engines == [["a"]]


def test_a_message_has_few_stacks() -> None:
    stacks = [message(f"s{number:02}") for number in range(3 * MOST_STACKS)]
    bus = send(*stacks, settings=ConvergenceSettings(batch_size=50))
    assert list(map(len, bus.to_engines)) == [MOST_STACKS] * 3


def test_a_message_has_at_most_a_batch_of_resources() -> None:
    bus = send(*(message(name, count=count) for name, count in [("a", 4), ("b", 6), ("c", 1)]))
    assert bus.to_engines == [["a", "b"], ["c"]]
    bus = send(message("a", count=25), message("b"), message("c"))
    assert bus.to_engines == [["a"], ["a"], ["a", "b", "c"]]


def test_observers_get_one_message() -> None:
    bus = send(*(message(name, OBSERVER) for name in "abc"), message("d"))
    assert (bus.to_observers, bus.to_engines) == ([["a", "b", "c"]], [["d"]])


def test_projects_share_no_message() -> None:
    bus = send(*(message(name, OBSERVER, project_id=name.lower()) for name in "aAbB"))
    assert bus.to_observers == [["a", "A"], ["b", "B"]]


@pytest.mark.parametrize("recipient", list(Recipient))
def test_a_message_without_a_project_is_sent_by_itself(recipient: Recipient) -> None:
    bus = send(*(message(name, recipient, project_id=None) for name in "ab"))
    assert bus.to_engines + bus.to_observers == [["a"], ["b"]]


def test_a_message_about_a_stack_itself_is_sent_by_itself() -> None:
    bus = send(message("a", OBSERVER, count=0), message("b", OBSERVER), message("c", OBSERVER))
    assert bus.to_observers == [["a"], ["b", "c"]]


def test_a_stack_is_named_once_in_a_message() -> None:
    older, newer = message("a", OBSERVER), OutgoingMessage("a", 2, ("a1",), OBSERVER, "p")
    assert send(older, newer, message("b", OBSERVER)).to_observers == [["a"], ["a", "b"]]
