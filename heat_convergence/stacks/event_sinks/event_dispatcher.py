"""The dispatch of committed events to the sinks that their stacks name, and to plug-ins.

Called by the store after a commit, in every process. Decides what is sent and what is dropped: a
thread sends what a bounded queue holds, so that nothing waits for a sink. What is not sent when
the process dies is lost: the events in the database are the record.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from queue import Empty, Full, Queue
from typing import Any

from heat_convergence.common.error_boundary import BoundaryName, ErrorBoundary
from heat_convergence.common.error_log import ErrorLog
from heat_convergence.common.errors import Error
from heat_convergence.common.time_limit import time_limit
from heat_convergence.convergence.model.action import Status
from heat_convergence.convergence.model.event import Event
from heat_convergence.convergence.model.stack import Stack
from heat_convergence.resources.protocol.verb_values import CloudFactory
from heat_convergence.stacks.event_sinks.event_documents import build_event_document
from heat_convergence.stacks.event_sinks.goal_sinks import (
    FindCommonParts,
    GoalSinks,
    LoadSinks,
)
from heat_convergence.stacks.event_sinks.lifecycle_plugins import LifecyclePlugins, StackOperation
from heat_convergence.stacks.event_sinks.sink_types import (
    MAX_SINKS,
    TYPE,
    SinkTarget,
    declared_values,
    load_sink_types,
)

LOG = logging.getLogger(__name__)
Json = Any
_MAX_EVENTS = 10_000  # that wait in one process
_MAX_BATCH = 200  # events that are sent together
_SEND_LIMIT_S = 10.0  # of the events of one stack to one sink
_IDLE_S = 5.0  # after which the thread ends
_DROPPED = "events not sent to sinks: dropped=%(dropped)s"
LoadStacks = Callable[[Sequence[str]], Mapping[str, Stack]]


@dataclass(frozen=True, slots=True)
class CommittedGoals:
    """The goals of the stacks whose events a transaction stored, as far as it knew them.

    Attributes:
        ids: ids of goals by stack.
        common_parts: hashes of the common parts of goals that it stored, by goal.
    """

    ids: Mapping[str, str] = field(default_factory=dict)
    common_parts: Mapping[str, str] = field(default_factory=dict)


NO_GOALS = CommittedGoals()
_QueuedEvent = tuple[Event, str | None]  # with the goal of its stack, if that is known


@dataclass(frozen=True, slots=True)
class DispatchSources:
    """The reads of the dispatcher.

    Attributes:
        load_stacks: returns stacks by their ids.
        find_common_parts: returns the hashes of the common parts of goals, by goal.
        load_sinks: returns the sinks that common parts name, by hash.
        cloud_of: returns the cloud of a tree.
    """

    load_stacks: LoadStacks
    find_common_parts: FindCommonParts
    load_sinks: LoadSinks
    cloud_of: CloudFactory


class EventDispatcher:
    """The dispatch of one process; call it with the events of a commit."""

    def __init__(
        self, sources: DispatchSources, plugins: LifecyclePlugins, errors: ErrorLog
    ) -> None:
        self._sources = sources
        self._plugins = plugins
        self._boundary = ErrorBoundary(BoundaryName.NOTIFICATION, errors)
        self._queue: Queue[_QueuedEvent] = Queue(_MAX_EVENTS)
        self._sinks = GoalSinks(sources.find_common_parts, sources.load_sinks)
        self._lock = threading.Lock()
        self._running = False

    def __call__(self, events: Sequence[Event], goals: CommittedGoals = NO_GOALS) -> None:
        """Queue events, and start the thread unless it runs; never wait."""
        if not self.enqueue(events, goals):
            return
        with self._lock:
            if self._running:
                return
            self._running = True
        threading.Thread(target=self._run, name="event-sinks", daemon=True).start()

    def enqueue(self, events: Sequence[Event], goals: CommittedGoals = NO_GOALS) -> bool:
        """Queue events that somebody may wait for; drop those for which there is no room.

        Args:
            events: the events of a commit.
            goals: the goals of their stacks, as far as they are known.

        Returns:
            Whether there are any.
        """
        self._sinks.note(goals.common_parts)
        queued = [(event, goals.ids.get(event.stack_id)) for event in events]
        received = [each for each in queued if self._may_have_receivers(*each)]
        dropped = 0
        for each in received:
            try:
                self._queue.put_nowait(each)
            except Full:
                dropped += 1
        if dropped:
            LOG.warning(_DROPPED, {"dropped": dropped})
        return bool(received)

    def _may_have_receivers(self, event: Event, goal_id: str | None) -> bool:
        """Return False if no plug-in is called and the goal is known to have no sinks.

        Of such a stack, as most are, no more is read than its goal, and that once.
        """
        if goal_id is None or (self._plugins and _ends_operation(event)):
            return True
        sinks = self._sinks.find(goal_id)
        return sinks is None or bool(sinks)

    def dispatch_queued(self) -> None:
        """Send what is queued now, in the calling thread."""
        batch = self._take(wait_s=None)
        while batch:
            self._boundary.contain(partial(self._dispatch, batch))
            batch = self._take(wait_s=None)

    def _run(self) -> None:
        while True:
            batch = self._take(wait_s=_IDLE_S)
            if batch:
                self._boundary.contain(partial(self._dispatch, batch))
                continue
            with self._lock:
                if self._queue.empty():
                    self._running = False
                    return

    def _take(self, wait_s: float | None) -> list[_QueuedEvent]:
        batch: list[_QueuedEvent] = []
        try:
            while len(batch) < _MAX_BATCH:
                blocks = wait_s is not None and not batch
                batch.append(self._queue.get(block=blocks, timeout=wait_s if blocks else None))
        except Empty:
            pass
        return batch

    def _dispatch(self, queued: Sequence[_QueuedEvent]) -> None:
        """Send events of several stacks; a failing sink keeps no other one from its events."""
        self._sinks.read({goal_id for _event, goal_id in queued if goal_id is not None})
        by_stack: dict[str, list[Event]] = {}
        for event, goal_id in queued:
            if self._may_have_receivers(event, goal_id):
                by_stack.setdefault(event.stack_id, []).append(event)
        if not by_stack:
            return
        stacks = self._sources.load_stacks(sorted(by_stack))
        self._sinks.read({stack.goal_id for stack in stacks.values()})
        for stack_id, stack in stacks.items():
            self._dispatch_events(stack, by_stack[stack_id])

    def _dispatch_events(self, stack: Stack, events: Sequence[Event]) -> None:
        sinks = self._sinks.find(stack.goal_id) or ()
        for sink in sinks[:MAX_SINKS]:
            self._boundary.contain(partial(self._send, stack, sink, events))
        for event in events:
            if _ends_operation(event):
                operation = StackOperation(stack, str(event.action), str(event.status))
                self._plugins.after_operation(operation)

    def _send(self, stack: Stack, sink: Mapping[str, Json], events: Sequence[Event]) -> None:
        sink_type = load_sink_types().get(str(sink.get(TYPE)))
        if sink_type is None or sink_type.check(declared_values(sink)) is not None:
            return  # the plug-in is no longer installed, or was when the stack was created
        documents = [build_event_document(event) for event in events]
        target = SinkTarget(stack.project_id, self._sources.cloud_of(stack.tree_id))
        try:
            with time_limit(_SEND_LIMIT_S):
                sink_type.send(sink, documents, target)
        except Error as error:
            LOG.debug(
                "events not sent to sink: stack=%(stack)s type=%(type)s error=%(error)s",
                {"stack": stack.id, "type": sink.get(TYPE), "error": error},
            )


def _ends_operation(event: Event) -> bool:
    """Return whether the event is that of a stack whose operation has ended."""
    return event.physical_id == event.stack_id and event.status is not Status.IN_PROGRESS
