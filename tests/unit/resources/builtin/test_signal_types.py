"""Tests of the types that take signals or wait for them."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from heat_convergence.common.errors import (
    Invalid,
    RequestLimitExceeded,
    ResourceNotAvailable,
)
from heat_convergence.convergence.model.action import Action
from heat_convergence.convergence.model.job import ObservedState
from heat_convergence.resources.builtin.signals import signal_log
from heat_convergence.resources.builtin.signals.scaling_policy import ScalingPolicy
from heat_convergence.resources.builtin.signals.signal_log import (
    CFN_FORMAT,
    NATIVE_FORMAT,
    SignalCounts,
    add_signal,
)
from heat_convergence.resources.builtin.signals.swift_signals import (
    SwiftSignal,
    SwiftSignalHandle,
)
from heat_convergence.resources.builtin.signals.wait_condition_handles import (
    CfnWaitConditionHandle,
    UpdateWaitConditionHandle,
    WaitConditionHandle,
)
from heat_convergence.resources.builtin.signals.wait_conditions import (
    CfnWaitCondition,
    WaitCondition,
)
from heat_convergence.resources.protocol.resource_type import ResourceType
from heat_convergence.resources.protocol.verb_values import ResourceContext
from tests.unit.resources.builtin.test_builtin_conformance import (
    attribute_as_fact,
    descriptions,
    property_as_fact,
    support_as_fact,
)

Json = Any
ContextBuilder = Callable[..., ResourceContext]
FACTS = json.loads((Path(__file__).parents[1] / "data" / "signal_types.json").read_text())
TYPES = (
    CfnWaitCondition(),
    CfnWaitConditionHandle(),
    ScalingPolicy(),
    SwiftSignal(),
    SwiftSignalHandle(),
    UpdateWaitConditionHandle(),
    WaitCondition(),
    WaitConditionHandle(),
)
every_type = pytest.mark.parametrize("resource_type", TYPES, ids=lambda item: item.name)


def test_facts_cover_all_types() -> None:
    assert sorted(FACTS) == [item.name for item in TYPES]


@every_type
def test_schema_matches_the_facts(resource_type: ResourceType) -> None:
    facts, schema = FACTS[resource_type.name], resource_type.schema
    properties = {name: property_as_fact(each) for name, each in schema.properties.items()}
    attributes = {name: attribute_as_fact(each) for name, each in schema.attributes.items()}
    assert (properties, attributes) == (facts["properties"], facts["attributes"])
    assert support_as_fact(schema) == facts["support_status"]


@every_type
def test_every_property_and_attribute_has_a_description(resource_type: ResourceType) -> None:
    assert resource_type.schema.description
    assert [name for name, text in descriptions(resource_type.schema.properties) if not text] == []
    assert all(each.description for each in resource_type.schema.attributes.values())


def test_missing_signal_fields_have_defaults() -> None:
    first, reason = add_signal({}, None, NATIVE_FORMAT)
    assert first == {"1": {"status": "SUCCESS", "reason": "Signal 1 received", "data": None}}
    assert reason == "status:SUCCESS reason:Signal 1 received"
    second, _reason = add_signal(first, {"data": {"a": 1}, "id": 7}, NATIVE_FORMAT)
    assert second["7"] == {"status": "SUCCESS", "reason": "Signal 2 received", "data": {"a": 1}}


def test_later_signal_of_an_id_replaces_the_earlier() -> None:
    first, _reason = add_signal({}, {"id": "a", "data": 1}, NATIVE_FORMAT)
    both, _reason = add_signal(first, {"id": "a", "data": 2}, NATIVE_FORMAT)
    assert SignalCounts.from_signals(both).data == {"a": 2}
    assert len(SignalCounts.from_signals(both).successes) == 1


GOOD_CFN = {"Status": "SUCCESS", "Reason": "r", "Data": "d", "UniqueId": "1"}


def test_cfn_signal_has_its_own_keys() -> None:
    signals, _reason = add_signal({}, GOOD_CFN, CFN_FORMAT)
    assert signals == {"1": {"status": "SUCCESS", "reason": "r", "data": "d"}}


@pytest.mark.parametrize(
    ("details", "signal_format", "text"),
    [
        ({"stauts": "SUCCESS"}, NATIVE_FORMAT, "stauts"),
        ({"status": "DONE"}, NATIVE_FORMAT, "'DONE'"),
        ({"Status": "SUCCESS"}, NATIVE_FORMAT, "Status"),
        ({**GOOD_CFN, "status": "SUCCESS"}, CFN_FORMAT, "status"),
        ({**GOOD_CFN, "Status": "no"}, CFN_FORMAT, "'no'"),
        ({"Status": "SUCCESS"}, CFN_FORMAT, "Data, Reason, UniqueId"),
        (None, CFN_FORMAT, "Data, Reason, Status, UniqueId"),
    ],
)
def test_malformed_signal_is_refused(details: Json, signal_format: Any, text: str) -> None:
    with pytest.raises(Invalid, match=text):
        add_signal({}, details, signal_format)


def test_handle_limits_its_signals(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(signal_log, "MAX_SIGNALS", 2)
    monkeypatch.setattr(signal_log, "MAX_SIGNALS_LENGTH", 300)
    two, _reason = add_signal(add_signal({}, None, NATIVE_FORMAT)[0], None, NATIVE_FORMAT)
    with pytest.raises(RequestLimitExceeded, match="2 signals"):
        add_signal(two, None, NATIVE_FORMAT)
    with pytest.raises(RequestLimitExceeded, match="300 characters"):
        add_signal({}, {"data": "x" * 300}, NATIVE_FORMAT)


def build_waiting_context(
    build_context: ContextBuilder, signals: Json, action: Action = Action.CREATE, **properties: Any
) -> ResourceContext:
    """Return the context of a wait condition whose handle has these signals."""
    after_s = properties.pop("after_s", 0.0)
    properties = {"handle": "h-1", "timeout": 60, **properties}
    context = build_context(WaitCondition(), properties, action, after_s=after_s, physical_id="w")
    handle = build_context(WaitConditionHandle(), {}, physical_id="h-1", data={"signals": signals})
    other_handle = replace(handle, physical_id="h-2", data={"signals": {}})
    return replace(context, dependencies={"stranger": other_handle, "handle": handle})


def signals(*status: str) -> dict[str, Json]:
    return {
        str(at): {"status": each, "reason": f"r{at}", "data": at}
        for at, each in enumerate(status, start=1)
    }


def test_condition_waits_until_its_timeout(build_context: ContextBuilder) -> None:
    context = build_waiting_context(build_context, signals("SUCCESS"), count=3, after_s=20)
    result = WaitCondition().observe(context)
    assert (result.observed, result.poll_after_s) == (ObservedState.BUSY, 40)
    result = WaitCondition().observe(
        build_waiting_context(build_context, signals("SUCCESS"), count=3, after_s=60)
    )
    assert (result.observed, result.error_name) == (ObservedState.FAILED, "WaitConditionTimeout")
    assert result.reason == "1 of 3 received - r1"
    result = WaitCondition().observe(build_waiting_context(build_context, {}, after_s=60))
    assert result.reason == "0 of 1 received"


def test_condition_is_ready_after_enough_signals(build_context: ContextBuilder) -> None:
    result = WaitCondition().observe(
        build_waiting_context(build_context, signals(*["SUCCESS"] * 3), count=3)
    )
    assert result.observed is ObservedState.READY
    assert result.attributes is not None
    assert json.loads(result.attributes["data"]) == {"1": 1, "2": 2, "3": 3}


def test_failure_signal_fails_the_condition_at_once(build_context: ContextBuilder) -> None:
    context = build_waiting_context(build_context, signals("SUCCESS", "FAILURE", "FAILURE"))
    result = WaitCondition().observe(context)
    assert (result.observed, result.error_name) == (ObservedState.FAILED, "WaitConditionFailure")
    assert result.reason == "r2;r3"


def test_condition_without_its_handle_fails(build_context: ContextBuilder) -> None:
    result = WaitCondition().observe(build_waiting_context(build_context, {}, handle="another"))
    assert result.observed is ObservedState.FAILED
    assert "no wait condition handle" in result.reason


def test_condition_does_not_wait_in_other_actions(build_context: ContextBuilder) -> None:
    for action in (Action.CHECK, Action.RESUME, Action.ADOPT):
        result = WaitCondition().observe(
            build_waiting_context(build_context, {}, action, after_s=1e6)
        )
        assert result.observed is ObservedState.READY


def test_signal_before_the_create_is_refused(build_context: ContextBuilder) -> None:
    with pytest.raises(ResourceNotAvailable):
        WaitConditionHandle().signal(build_context(WaitConditionHandle(), {}), {})


def test_signal_keeps_other_data_of_the_handle(build_context: ContextBuilder) -> None:
    context = build_context(WaitConditionHandle(), {}, physical_id="h", data={"password": "p"})
    signalled = WaitConditionHandle().signal(context, {"id": "a"})
    assert signalled.data is not None
    assert (signalled.data["password"], list(signalled.data["signals"])) == ("p", ["a"])
    after = replace(context, data=signalled.data)
    shown = WaitConditionHandle().shown_metadata(after, {"own": 1})
    assert shown == {"own": 1, **signalled.data["signals"]}


def test_metadata_have_the_words_of_the_signal_format(build_context: ContextBuilder) -> None:
    handle = CfnWaitConditionHandle()
    context = build_context(handle, {}, physical_id="h", data={})
    body = {"Status": "SUCCESS", "Reason": "r", "Data": "d", "UniqueId": "a"}
    signalled = handle.signal(context, body)
    assert signalled.data is not None
    shown = handle.shown_metadata(replace(context, data=signalled.data), {})
    assert shown == {"a": {"Status": "SUCCESS", "Reason": "r", "Data": "d"}}
