"""Messages to send after a commit, and which of them are sent as one.

Steps return what is to be sent; their callers send it once the rows are committed.  A message
costs the broker, the sender and the receiver much the same for one stack as for several, and a
receiver handles what one message names in one transaction.  Must not put stacks of two projects
into one message, of which one could keep the other waiting.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from enum import Enum

from heat_convergence.convergence.model.stack import Stack
from heat_convergence.convergence.ports.bus import Bus, ResourceHint
from heat_convergence.convergence.ports.settings import ConvergenceSettings

MOST_STACKS = 16  # in a message, and in a transaction of an observer


class Recipient(Enum):
    """The recipient of a message."""

    ENGINE = "engine"
    OBSERVER = "observer"


@dataclass(frozen=True, slots=True)
class OutgoingMessage:
    """A message to send after the commit.

    It names jobs of one traversal for the engines, or resources that the observers are
    to record; without resources it is about the stack itself.

    Attributes:
        project_id: the project of the stack, whose messages may be sent as one; None for a message
            that is sent by itself.
    """

    stack_id: str
    version: int
    resource_ids: tuple[str, ...]
    recipient: Recipient = Recipient.ENGINE
    project_id: str | None = None


def merge_messages(outgoing_messages: Sequence[OutgoingMessage]) -> tuple[OutgoingMessage, ...]:
    """Merge the messages of each traversal into one; those about a stack itself stay."""
    merged: dict[tuple[str, int, Recipient], OutgoingMessage] = {}
    about_stacks = []
    for message in outgoing_messages:
        key = (message.stack_id, message.version, message.recipient)
        if not message.resource_ids:
            about_stacks.append(message)
        elif key in merged:
            ids = (*merged[key].resource_ids, *message.resource_ids)
            merged[key] = replace(message, resource_ids=ids)
        else:
            merged[key] = message
    return (*about_stacks, *merged.values())


def own_job_ids(outgoing_messages: Sequence[OutgoingMessage], stack: Stack) -> tuple[str, ...]:
    """Return the jobs of the stack among those of the messages."""
    return tuple(
        job
        for message in outgoing_messages
        if message.stack_id == stack.id and message.recipient is Recipient.ENGINE
        for job in message.resource_ids
    )


def send_messages(
    bus: Bus, outgoing_messages: Iterable[OutgoingMessage], settings: ConvergenceSettings
) -> None:
    """Send messages, jobs in batches of at most ``batch_size``, and several stacks in one.

    Called after the commit: a message must not arrive before the rows that it is about.
    """
    groups: dict[tuple[Recipient, str | None], list[OutgoingMessage]] = {}
    for message in outgoing_messages:
        shared_by = message.project_id if message.resource_ids else None
        groups.setdefault((message.recipient, shared_by), []).append(message)
    for (recipient, shared_by), messages in groups.items():
        if recipient is Recipient.OBSERVER:
            hints = [_hint(message, message.resource_ids) for message in messages]
            send, most = bus.observe, MOST_STACKS
        else:
            hints = [
                _hint(message, batch)
                for message in messages
                for batch in batches(message.resource_ids, settings.batch_size)
            ]
            # Two messages at least, so that two engines work at them.
            send, most = bus.converge, min(MOST_STACKS, (len(hints) + 1) // 2)
        most_stacks = 1 if shared_by is None else most
        for together in _together(hints, most_stacks, settings.batch_size):
            send(together)


def _hint(message: OutgoingMessage, resource_ids: Sequence[str]) -> ResourceHint:
    return ResourceHint(message.stack_id, message.version, tuple(resource_ids))


def _together(
    hints: Iterable[ResourceHint], most_stacks: int, most_resources: int
) -> Iterator[tuple[ResourceHint, ...]]:
    """Yield the hints of each message, none of which names a stack twice."""
    found: dict[str, ResourceHint] = {}
    room = most_resources
    for hint in hints:
        room -= len(hint.resource_ids)
        if found and (room < 0 or len(found) >= most_stacks or hint.stack_id in found):
            yield tuple(found.values())
            found, room = {}, most_resources - len(hint.resource_ids)
        found[hint.stack_id] = hint
    if found:
        yield tuple(found.values())


def batches(ids: Iterable[str], size: int) -> Iterable[tuple[str, ...]]:
    """Return the ids in tuples of at most ``size``."""
    every = tuple(ids)
    return (every[at : at + size] for at in range(0, len(every), size))
