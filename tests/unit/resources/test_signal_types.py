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
from heat_convergence.convergence.model import Action, Observed
from heat_convergence.resources.builtin.signals import stored
from heat_convergence.resources.builtin.signals.conditions import (
    CfnWaitCondition,
    WaitCondition,
)
from heat_convergence.resources.builtin.signals.handles import (
    CfnWaitConditionHandle,
    UpdateWaitConditionHandle,
    WaitConditionHandle,
)
from heat_convergence.resources.builtin.signals.scaling_policy import ScalingPolicy
from heat_convergence.resources.builtin.signals.stored import CFN, NATIVE, Tally, added
from heat_convergence.resources.plugin import ResourceType, View
from tests.unit.resources.test_resource_conformance import (
    attribute_as_fact,
    descriptions,
    property_as_fact,
    support_as_fact,
)

Json = Any
ViewOf = Callable[..., View]
FACTS = json.loads((Path(__file__).parent / "data" / "signal_types.json").read_text())
TYPES = (
    CfnWaitCondition(),
    CfnWaitConditionHandle(),
    ScalingPolicy(),
    UpdateWaitConditionHandle(),
    WaitCondition(),
    WaitConditionHandle(),
)
every_type = pytest.mark.parametrize("kind", TYPES, ids=lambda item: item.name)


def test_facts_cover_the_same_types() -> None:
    assert sorted(FACTS) == [item.name for item in TYPES]


@every_type
def test_schema_is_as_the_facts_say(kind: ResourceType) -> None:
    facts, schema = FACTS[kind.name], kind.schema
    told = {name: property_as_fact(each) for name, each in schema.properties.items()}
    attributes = {name: attribute_as_fact(each) for name, each in schema.attributes.items()}
    assert (told, attributes) == (facts["properties"], facts["attributes"])
    assert support_as_fact(schema) == facts["support_status"]


@every_type
def test_everything_is_described(kind: ResourceType) -> None:
    assert kind.schema.description
    assert [name for name, text in descriptions(kind.schema.properties) if not text] == []
    assert all(each.description for each in kind.schema.attributes.values())


def test_what_is_not_said_of_a_signal_is_filled_in() -> None:
    first, told = added({}, None, NATIVE)
    assert first == {"1": {"status": "SUCCESS", "reason": "Signal 1 received", "data": None}}
    assert told == "status:SUCCESS reason:Signal 1 received"
    second, _told = added(first, {"data": {"a": 1}, "id": 7}, NATIVE)
    assert second["7"] == {"status": "SUCCESS", "reason": "Signal 2 received", "data": {"a": 1}}


def test_a_signal_of_the_same_id_counts_once_and_is_the_later_one() -> None:
    first, _told = added({}, {"id": "a", "data": 1}, NATIVE)
    both, _told = added(first, {"id": "a", "data": 2}, NATIVE)
    assert Tally.of(both).data == {"a": 2}
    assert len(Tally.of(both).successes) == 1


GOOD_CFN = {"Status": "SUCCESS", "Reason": "r", "Data": "d", "UniqueId": "1"}


def test_a_cfn_signal_has_its_own_words() -> None:
    signals, _told = added({}, GOOD_CFN, CFN)
    assert signals == {"1": {"status": "SUCCESS", "reason": "r", "data": "d"}}


@pytest.mark.parametrize(
    ("details", "words", "piece"),
    [
        ({"stauts": "SUCCESS"}, NATIVE, "stauts"),
        ({"status": "DONE"}, NATIVE, "'DONE'"),
        ({"Status": "SUCCESS"}, NATIVE, "Status"),
        ({**GOOD_CFN, "status": "SUCCESS"}, CFN, "status"),
        ({**GOOD_CFN, "Status": "no"}, CFN, "'no'"),
        ({"Status": "SUCCESS"}, CFN, "Data, Reason, UniqueId"),
        (None, CFN, "Data, Reason, Status, UniqueId"),
    ],
)
def test_what_cannot_be_read_is_refused(details: Json, words: Any, piece: str) -> None:
    with pytest.raises(Invalid, match=piece):
        added({}, details, words)


def test_a_handle_keeps_so_many_signals(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stored, "MOST", 2)
    monkeypatch.setattr(stored, "LONGEST", 300)
    two, _told = added(added({}, None, NATIVE)[0], None, NATIVE)
    with pytest.raises(RequestLimitExceeded, match="2 signals"):
        added(two, None, NATIVE)
    with pytest.raises(RequestLimitExceeded, match="300 characters"):
        added({}, {"data": "x" * 300}, NATIVE)


def waiting(view_of: ViewOf, signals: Json, action: Action = Action.CREATE, **given: Any) -> View:
    """A wait condition's view, whose handle has these signals."""
    after_s = given.pop("after_s", 0.0)
    properties = {"handle": "h-1", "timeout": 60, **given}
    view = view_of(WaitCondition(), properties, action, after_s=after_s, physical_id="w")
    handle = view_of(WaitConditionHandle(), {}, physical_id="h-1", data={"signals": signals})
    stranger = replace(handle, physical_id="h-2", data={"signals": {}})
    return replace(view, others={"stranger": stranger, "handle": handle})


def signals(*status: str) -> dict[str, Json]:
    return {
        str(at): {"status": each, "reason": f"r{at}", "data": at}
        for at, each in enumerate(status, start=1)
    }


def test_it_waits_until_its_time_is_over_and_no_shorter(view_of: ViewOf) -> None:
    view = waiting(view_of, signals("SUCCESS"), count=3, after_s=20)
    look = WaitCondition().observe(view)
    assert (look.observed, look.again_s) == (Observed.BUSY, 40)
    look = WaitCondition().observe(waiting(view_of, signals("SUCCESS"), count=3, after_s=60))
    assert (look.observed, look.error) == (Observed.FAILED, "WaitConditionTimeout")
    assert look.reason == "1 of 3 received - r1"
    look = WaitCondition().observe(waiting(view_of, {}, after_s=60))
    assert look.reason == "0 of 1 received"


def test_it_is_ready_when_there_are_enough(view_of: ViewOf) -> None:
    look = WaitCondition().observe(waiting(view_of, signals(*["SUCCESS"] * 3), count=3))
    assert look.observed is Observed.READY
    assert json.loads(look.attributes["data"]) == {"1": 1, "2": 2, "3": 3}


def test_a_failure_counts_at_once_though_there_are_enough(view_of: ViewOf) -> None:
    view = waiting(view_of, signals("SUCCESS", "FAILURE", "FAILURE"))
    look = WaitCondition().observe(view)
    assert (look.observed, look.error) == (Observed.FAILED, "WaitConditionFailure")
    assert look.reason == "r2;r3"


def test_a_handle_that_is_none(view_of: ViewOf) -> None:
    look = WaitCondition().observe(waiting(view_of, {}, handle="another"))
    assert look.observed is Observed.FAILED
    assert "no wait condition handle" in look.reason


def test_nothing_is_waited_for_in_other_actions(view_of: ViewOf) -> None:
    for action in (Action.CHECK, Action.RESUME, Action.ADOPT):
        look = WaitCondition().observe(waiting(view_of, {}, action, after_s=1e6))
        assert look.observed is Observed.READY


@pytest.mark.parametrize("transport", ["TEMP_URL_SIGNAL", "ZAQAR_SIGNAL"])
def test_transports_through_other_services_are_refused(transport: str) -> None:
    with pytest.raises(StackValidationFailed, match=f"{transport} is not supported") as caught:
        WaitConditionHandle().validate({"signal_transport": transport}, None)
    assert caught.value.path == "signal_transport"


def test_a_handle_that_is_not_made_yet_keeps_nothing(view_of: ViewOf) -> None:
    with pytest.raises(ResourceNotAvailable):
        WaitConditionHandle().signal(view_of(WaitConditionHandle(), {}), {})


def test_what_else_a_handle_remembers_stays(view_of: ViewOf) -> None:
    view = view_of(WaitConditionHandle(), {}, physical_id="h", data={"password": "p"})
    taken = WaitConditionHandle().signal(view, {"id": "a"})
    assert taken.data is not None
    assert (taken.data["password"], list(taken.data["signals"])) == ("p", ["a"])
    after = replace(view, data=taken.data)
    shown = WaitConditionHandle().metadata_of(after, {"own": 1})
    assert shown == {"own": 1, **taken.data["signals"]}
