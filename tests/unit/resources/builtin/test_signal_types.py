"""Types that take signals or wait for them: schemas, and what signals come to."""

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
    StackValidationFailed,
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
from heat_convergence.resources.builtin.signals.wait_condition_handles import (
    CfnWaitConditionHandle,
    UpdateWaitConditionHandle,
    WaitConditionHandle,
)
from heat_convergence.resources.builtin.signals.wait_conditions import (
    CfnWaitCondition,
    WaitCondition,
)
from heat_convergence.resources.protocol.resource_type import ResourceContext, ResourceType
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
    UpdateWaitConditionHandle(),
    WaitCondition(),
    WaitConditionHandle(),
)
every_type = pytest.mark.parametrize("resource_type", TYPES, ids=lambda item: item.name)


def test_facts_cover_the_same_types() -> None:
    assert sorted(FACTS) == [item.name for item in TYPES]


@every_type
def test_schema_is_as_the_facts_say(resource_type: ResourceType) -> None:
    facts, schema = FACTS[resource_type.name], resource_type.schema
    told = {name: property_as_fact(each) for name, each in schema.properties.items()}
    attributes = {name: attribute_as_fact(each) for name, each in schema.attributes.items()}
    assert (told, attributes) == (facts["properties"], facts["attributes"])
    assert support_as_fact(schema) == facts["support_status"]


@every_type
def test_everything_is_described(resource_type: ResourceType) -> None:
    assert resource_type.schema.description
    assert [name for name, text in descriptions(resource_type.schema.properties) if not text] == []
    assert all(each.description for each in resource_type.schema.attributes.values())


def test_what_is_not_said_of_a_signal_is_filled_in() -> None:
    first, told = add_signal({}, None, NATIVE_FORMAT)
    assert first == {"1": {"status": "SUCCESS", "reason": "Signal 1 received", "data": None}}
    assert told == "status:SUCCESS reason:Signal 1 received"
    second, _told = add_signal(first, {"data": {"a": 1}, "id": 7}, NATIVE_FORMAT)
    assert second["7"] == {"status": "SUCCESS", "reason": "Signal 2 received", "data": {"a": 1}}


def test_a_signal_of_the_same_id_counts_once_and_is_the_later_one() -> None:
    first, _told = add_signal({}, {"id": "a", "data": 1}, NATIVE_FORMAT)
    both, _told = add_signal(first, {"id": "a", "data": 2}, NATIVE_FORMAT)
    assert SignalCounts.from_signals(both).data == {"a": 2}
    assert len(SignalCounts.from_signals(both).successes) == 1


GOOD_CFN = {"Status": "SUCCESS", "Reason": "r", "Data": "d", "UniqueId": "1"}


def test_a_cfn_signal_has_its_own_words() -> None:
    signals, _told = add_signal({}, GOOD_CFN, CFN_FORMAT)
    assert signals == {"1": {"status": "SUCCESS", "reason": "r", "data": "d"}}


@pytest.mark.parametrize(
    ("details", "words", "piece"),
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
def test_what_cannot_be_read_is_refused(details: Json, words: Any, piece: str) -> None:
    with pytest.raises(Invalid, match=piece):
        add_signal({}, details, words)


def test_a_handle_keeps_so_many_signals(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(signal_log, "MAX_SIGNALS", 2)
    monkeypatch.setattr(signal_log, "MAX_SIGNALS_LENGTH", 300)
    two, _told = add_signal(add_signal({}, None, NATIVE_FORMAT)[0], None, NATIVE_FORMAT)
    with pytest.raises(RequestLimitExceeded, match="2 signals"):
        add_signal(two, None, NATIVE_FORMAT)
    with pytest.raises(RequestLimitExceeded, match="300 characters"):
        add_signal({}, {"data": "x" * 300}, NATIVE_FORMAT)


def waiting(
    build_context: ContextBuilder, signals: Json, action: Action = Action.CREATE, **given: Any
) -> ResourceContext:
    """A wait condition's view, whose handle has these signals."""
    after_s = given.pop("after_s", 0.0)
    properties = {"handle": "h-1", "timeout": 60, **given}
    context = build_context(WaitCondition(), properties, action, after_s=after_s, physical_id="w")
    handle = build_context(WaitConditionHandle(), {}, physical_id="h-1", data={"signals": signals})
    stranger = replace(handle, physical_id="h-2", data={"signals": {}})
    return replace(context, dependencies={"stranger": stranger, "handle": handle})


def signals(*status: str) -> dict[str, Json]:
    return {
        str(at): {"status": each, "reason": f"r{at}", "data": at}
        for at, each in enumerate(status, start=1)
    }


def test_it_waits_until_its_time_is_over_and_no_shorter(build_context: ContextBuilder) -> None:
    context = waiting(build_context, signals("SUCCESS"), count=3, after_s=20)
    look = WaitCondition().observe(context)
    assert (look.observed, look.poll_after_s) == (ObservedState.BUSY, 40)
    look = WaitCondition().observe(waiting(build_context, signals("SUCCESS"), count=3, after_s=60))
    assert (look.observed, look.error_name) == (ObservedState.FAILED, "WaitConditionTimeout")
    assert look.reason == "1 of 3 received - r1"
    look = WaitCondition().observe(waiting(build_context, {}, after_s=60))
    assert look.reason == "0 of 1 received"


def test_it_is_ready_when_there_are_enough(build_context: ContextBuilder) -> None:
    look = WaitCondition().observe(waiting(build_context, signals(*["SUCCESS"] * 3), count=3))
    assert look.observed is ObservedState.READY
    assert json.loads(look.attributes["data"]) == {"1": 1, "2": 2, "3": 3}


def test_a_failure_counts_at_once_though_there_are_enough(build_context: ContextBuilder) -> None:
    context = waiting(build_context, signals("SUCCESS", "FAILURE", "FAILURE"))
    look = WaitCondition().observe(context)
    assert (look.observed, look.error_name) == (ObservedState.FAILED, "WaitConditionFailure")
    assert look.reason == "r2;r3"


def test_a_handle_that_is_none(build_context: ContextBuilder) -> None:
    look = WaitCondition().observe(waiting(build_context, {}, handle="another"))
    assert look.observed is ObservedState.FAILED
    assert "no wait condition handle" in look.reason


def test_nothing_is_waited_for_in_other_actions(build_context: ContextBuilder) -> None:
    for action in (Action.CHECK, Action.RESUME, Action.ADOPT):
        look = WaitCondition().observe(waiting(build_context, {}, action, after_s=1e6))
        assert look.observed is ObservedState.READY


@pytest.mark.parametrize("transport", ["TEMP_URL_SIGNAL", "ZAQAR_SIGNAL"])
def test_transports_through_other_services_are_refused(transport: str) -> None:
    with pytest.raises(StackValidationFailed, match=f"{transport} is not supported") as caught:
        WaitConditionHandle().validate({"signal_transport": transport}, None)
    assert caught.value.path == "signal_transport"


def test_a_handle_that_is_not_made_yet_keeps_nothing(build_context: ContextBuilder) -> None:
    with pytest.raises(ResourceNotAvailable):
        WaitConditionHandle().signal(build_context(WaitConditionHandle(), {}), {})


def test_what_else_a_handle_remembers_stays(build_context: ContextBuilder) -> None:
    context = build_context(WaitConditionHandle(), {}, physical_id="h", data={"password": "p"})
    taken = WaitConditionHandle().signal(context, {"id": "a"})
    assert taken.data is not None
    assert (taken.data["password"], list(taken.data["signals"])) == ("p", ["a"])
    after = replace(context, data=taken.data)
    shown = WaitConditionHandle().shown_metadata(after, {"own": 1})
    assert shown == {"own": 1, **taken.data["signals"]}
