"""Wait conditions, which are ready when their handle has received enough signals.

Decides by the handle's signals and by time alone. It must not wait: a signal, or the end of its
timeout, triggers an observation. Signals in the object storage are read at intervals.

Source: docs/reference/resource-groups.rst, "Signals and waiting".
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from heat_convergence.convergence.model.action import Action
from heat_convergence.convergence.model.job import ObservedState
from heat_convergence.resources.builtin.local_type import LocalType, remaining_s
from heat_convergence.resources.builtin.signals.signal_log import (
    SIGNALS,
    SignalCounts,
    SignalLog,
)
from heat_convergence.resources.builtin.signals.signal_objects import (
    SignalObjects,
    parse_signals,
    read_signals,
)
from heat_convergence.resources.builtin.signals.signal_responder import SIGNED_URL
from heat_convergence.resources.builtin.signals.wait_condition_handles import (
    NO_SIGNAL,
    TEMP_URL,
    ZAQAR,
    signal_queue,
)
from heat_convergence.resources.driver import poll_interval
from heat_convergence.resources.protocol.schema import (
    AttributeSchema,
    CacheMode,
    PropertySchema,
    PropertyType,
    SupportStatus,
    TypeSchema,
)
from heat_convergence.resources.protocol.verb_values import ResourceContext, VerbResult
from heat_convergence.template.parameters.constraints import Range

Json = Any
MAX_TIMEOUT_S = 43_200
_POSTED, _MARKER = "posted", "marker"  # keys of the data: what was read from a queue
_WAITING_ACTIONS = frozenset({Action.CREATE, Action.UPDATE, Action.ROLLBACK})


def _schema(
    version: str, *, handle: str, seconds: PropertyType, named: Callable[[str], str] = str
) -> TypeSchema:
    """Return the schema of a wait condition.

    Args:
        version: Heat's version that introduced the type.
        handle: The description of the property that refers to the handle.
        seconds: The property type of times.
        named: Spells a name as the type's template language does.
    """
    return TypeSchema(
        description="A resource that is ready when its handle has received enough signals.",
        support_status=SupportStatus(version=version),
        properties={
            named("handle"): PropertySchema(
                type=PropertyType.STRING, description=handle, required=True
            ),
            named("timeout"): PropertySchema(
                type=seconds,
                description="Seconds to wait for the signals before the condition fails.",
                required=True,
                constraints=(Range(min=1, max=MAX_TIMEOUT_S),),
            ),
            named("count"): PropertySchema(
                type=PropertyType.INTEGER,
                description="Number of success signals to wait for.",
                default=1,
                update_allowed=True,
                constraints=(Range(min=1),),
            ),
        },
        attributes={
            named("data"): AttributeSchema(
                PropertyType.STRING,
                "JSON document with the data of the signals by their ids.",
                cache_mode=CacheMode.NONE,
            ),
        },
    )


class WaitCondition(LocalType):
    """A resource that waits for signals of a handle in the same stack."""

    name = "OS::Heat::WaitCondition"
    local: ClassVar[bool] = False  # some transports store signals elsewhere
    observes_dependencies = True

    schema = _schema(
        "2014.2",
        handle="Reference id of the wait condition handle.",
        seconds=PropertyType.NUMBER,
    )

    @staticmethod
    def spell_name(name: str) -> str:
        """Spell a property name as the type's template language does."""
        return name

    def find(self, context: ResourceContext) -> str | None:
        """Return the physical name, which every create uses as the physical id."""
        return context.physical_name  # so that a create that was never recorded is deleted

    def delete(self, context: ResourceContext) -> VerbResult:
        """Delete the condition, and the signals that its handle has."""
        handle = self._handle(context, context.properties.get(self.spell_name("handle")))
        resets: dict[str, Json] = {} if handle is None else {handle.resource_id: {SIGNALS: {}}}
        return VerbResult(ObservedState.ABSENT, data_resets=resets)

    def to_result(
        self, context: ResourceContext, properties: Mapping[str, Json], *, physical_id: str | None
    ) -> VerbResult:
        """Return the state that the handle's signals and the timeout result in."""
        if context.action not in _WAITING_ACTIONS:
            return VerbResult(ObservedState.READY, physical_id=physical_id)
        handle = self._handle(context, properties[self.spell_name("handle")])
        if handle is None:
            reason = f"{self.spell_name('handle')} is no wait condition handle of this stack"
            return VerbResult(ObservedState.FAILED, physical_id, reason=reason)
        source = self._signals(context, handle)
        count = int(properties[self.spell_name("count")])
        limits = count, float(properties[self.spell_name("timeout")])
        return signalled_result(
            context,
            source,
            limits,
            physical_id=physical_id,
            data_attribute=self.spell_name("data"),
        )

    def _signals(self, context: ResourceContext, handle: ResourceContext) -> SignalSource:
        """Return the signals that the handle has kept, or that its transport has stored."""
        signals: SignalLog = handle.data[SIGNALS]
        transport = handle.properties.get("signal_transport")
        if transport == ZAQAR:
            return _posted_signals(context, handle)
        if transport != TEMP_URL:
            return SignalSource(signals, is_complete=transport == NO_SIGNAL)
        texts = SignalObjects(context, handle.physical_name).texts()
        stored, mistake = parse_signals(texts)
        return SignalSource({**signals, **stored}, mistake=mistake, is_polled=True)

    @staticmethod
    def _handle(context: ResourceContext, reference: Json) -> ResourceContext | None:
        for other in context.dependencies.values():
            if SIGNALS in other.data and reference in (
                other.physical_id,
                other.data.get(SIGNED_URL),
            ):
                return other
        return None


@dataclass(frozen=True, slots=True)
class SignalSource:
    """The signals that a resource has received so far.

    Attributes:
        signals: Id → signal.
        mistake: Why one of them cannot be read.
        is_polled: True if others store them, so that nothing announces the next one.
        is_complete: True if nothing can signal, so that nothing is waited for.
        data: What is to be recorded of them, if anything.
    """

    signals: SignalLog
    mistake: str = ""
    is_polled: bool = False
    is_complete: bool = False
    data: Mapping[str, Json] | None = None


def _posted_signals(context: ResourceContext, handle: ResourceContext) -> SignalSource:
    """Return the signals in the handle's queue.

    They are recorded with the place up to which the queue was read: messages expire.
    """
    before = context.data.get(_POSTED) or {}
    log, marker = before.get(SIGNALS) or {}, before.get(_MARKER)
    queue = signal_queue(context, handle)
    if queue is None:
        return SignalSource(log, mistake="the handle has no queue", is_polled=True)
    documents, marker_after = queue.read(marker)
    log, mistake = read_signals(log, documents)
    data = {**context.data, _POSTED: {SIGNALS: log, _MARKER: marker_after}} if documents else None
    return SignalSource({**handle.data[SIGNALS], **log}, mistake, is_polled=True, data=data)


def signalled_result(
    context: ResourceContext,
    source: SignalSource,
    limits: tuple[int, float],
    *,
    physical_id: str | None,
    data_attribute: str = "data",
) -> VerbResult:
    """Return the state that signals and the time since the start of the action result in.

    Args:
        context: The resource that waits.
        source: The signals.
        limits: The number of signals, and the seconds to wait for them.
        physical_id: Of the resource.
        data_attribute: The attribute with the data of the signals.
    """
    count, timeout_s = limits
    counts = SignalCounts.from_signals(source.signals)
    data = json.dumps(counts.data, ensure_ascii=False)
    attributes = {data_attribute: data}
    result = VerbResult(ObservedState.READY, physical_id, attributes, data=source.data)
    failures = [*counts.failures, *([source.mistake] if source.mistake else [])]
    if failures:
        return _failed(result, ";".join(failures), "WaitConditionFailure")
    if len(counts.successes) >= count or source.is_complete:
        return result
    left_s = remaining_s(context, timeout_s)
    if left_s <= 0:
        return _failed(result, counts.describe_progress(count), "WaitConditionTimeout")
    poll_s = poll_interval.next_poll_s(context.started_at, context.now)
    wait_s = min(left_s, poll_s) if source.is_polled else left_s
    return replace(result, observed=ObservedState.BUSY, poll_after_s=wait_s)


def _failed(result: VerbResult, reason: str, error_name: str) -> VerbResult:
    failed = ObservedState.FAILED
    return replace(result, observed=failed, reason=reason, error_name=error_name)


class CfnWaitCondition(WaitCondition):
    """A wait condition with CloudFormation's property names."""

    name = "AWS::CloudFormation::WaitCondition"

    schema = _schema(
        "2014.1",
        handle="URL of the wait condition handle.",
        seconds=PropertyType.INTEGER,
        named=str.capitalize,
    )

    @staticmethod
    def spell_name(name: str) -> str:
        """Spell a property name as CloudFormation does."""
        return name.capitalize()
