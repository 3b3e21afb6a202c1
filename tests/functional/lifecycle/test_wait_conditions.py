"""Wait conditions through the API: what they wait for, when they fail, what ends them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest

from heat_convergence.api.controllers.resource.signals import SignalsController
from heat_convergence.resources.builtin.signals.wait_conditions import WaitCondition
from heat_convergence.resources.protocol.verb_values import ResourceContext, VerbResult
from tests.functional.harness import LocalService
from tests.functional.project_client import ProjectClient, hot_template

Json = Any
HANDLE = {"type": "OS::Heat::WaitConditionHandle"}


@pytest.fixture
def heat(tmp_path: Any) -> Iterator[ProjectClient]:
    service = LocalService(f"sqlite:///{tmp_path}/hc.sqlite")
    yield ProjectClient(service)
    service.close()


def template(count: int = 1, timeout: float = 600, **more: Json) -> Json:
    wait = {
        "type": "OS::Heat::WaitCondition",
        "properties": {"handle": {"get_resource": "h"}, "timeout": timeout, "count": count},
    }
    after = {"type": "OS::Heat::None", "depends_on": "wait"}
    resources = {"h": HANDLE, "wait": wait, "after": after, **more}
    return hot_template(resources, outputs={"data": {"get_attr": ["wait", "data"]}})


def start(heat: ProjectClient, body: Json) -> None:
    heat.create("s", body, hold=True)
    heat.service.run_due_work()


def signal(heat: ProjectClient, body: Json = None, name: str = "h", *, run: bool = True) -> Any:
    """Send a signal and, unless work is under way, run what it makes due; time stands still."""
    answer = heat.send(
        "POST", f"{heat.path('s')}/resources/{name}/signal", body, leave_pending=True
    )
    if run:
        heat.service.run_due_work()
    return answer


def status(heat: ProjectClient, name: str = "wait") -> str:
    return str(heat.resource("s", name)["resource_status"])


def reason(heat: ProjectClient, name: str = "wait") -> str:
    return str(heat.resource("s", name)["resource_status_reason"])


def test_signals_are_counted_and_their_data_is_kept(heat: ProjectClient) -> None:
    start(heat, template(count=3))
    for body in ({"id": "b", "data": "two"}, {"id": "a", "data": {"x": 1}}):
        assert signal(heat, body).status_int == 200
    assert status(heat) == "CREATE_IN_PROGRESS"
    signal(heat, {"id": "a", "data": "again"})  # the same once more
    assert status(heat) == "CREATE_IN_PROGRESS"
    signal(heat)
    assert (status(heat), heat.status("s")) == ("CREATE_COMPLETE", "CREATE_COMPLETE")
    data = json.loads(heat.outputs("s")["data"])
    assert data == {"b": "two", "a": "again", "3": None}
    metadata = heat.send("GET", f"{heat.path('s')}/resources/h/metadata").json["metadata"]
    assert metadata["a"] == {"status": "SUCCESS", "reason": "Signal 3 received", "data": "again"}
    event_reasons = [
        event["resource_status_reason"]
        for event in heat.events("s", "?sort_dir=asc")
        if event["resource_status"] == "SIGNAL_COMPLETE"
    ]
    assert event_reasons[0] == "Signal: status:SUCCESS reason:Signal 1 received"


def test_signals_before_the_wait_count(heat: ProjectClient) -> None:
    slow = {"type": "OS::Heat::Delay", "properties": {"min_wait": 50}}
    body = template(slow=slow)
    body["resources"]["wait"]["depends_on"] = "slow"
    start(heat, body)
    assert (status(heat, "h"), status(heat)) == ("CREATE_COMPLETE", "INIT_COMPLETE")
    signal(heat, {"data": "early"})
    heat.service.run_until_idle()
    assert heat.status("s") == "CREATE_COMPLETE"
    assert json.loads(heat.outputs("s")["data"]) == {"1": "early"}


@pytest.mark.parametrize("failure", ["signal", "timeout"])
def test_data_of_a_condition_that_fails_is_what_arrived(heat: ProjectClient, failure: str) -> None:
    start(heat, template(count=3, timeout=20))
    signal(heat, {"id": "a", "data": "first"})
    assert json.loads(heat.outputs("s")["data"]) == {"a": "first"}
    if failure == "signal":
        signal(heat, {"id": "b", "status": "FAILURE"})
    else:
        heat.service.clock.advance(21)
        heat.service.run_until_idle()
    assert status(heat) == "CREATE_FAILED"
    expected = {"a": "first", "b": None} if failure == "signal" else {"a": "first"}
    assert json.loads(heat.resource("s", "wait")["attributes"]["data"]) == expected


def test_handle_without_a_signal_transport_is_not_waited_for(heat: ProjectClient) -> None:
    body = template(count=2)
    body["resources"]["h"] = {**HANDLE, "properties": {"signal_transport": "NO_SIGNAL"}}
    start(heat, body)
    assert (status(heat), heat.status("s")) == ("CREATE_COMPLETE", "CREATE_COMPLETE")
    assert json.loads(heat.outputs("s")["data"]) == {}


def test_condition_is_not_observed_before_its_timeout(heat: ProjectClient) -> None:
    start(heat, template(timeout=600))
    began, due = (
        heat.service.clock(),
        heat.service.services.store.sweeps.get_next_observation_time(),
    )
    assert timedelta(seconds=590) < due - began < timedelta(seconds=610)
    assert not heat.service.bus.pending


def test_condition_times_out(heat: ProjectClient) -> None:
    start(heat, template(count=2))
    signal(heat, {"reason": "half"})
    heat.service.run_until_idle()
    assert heat.status("s") == "CREATE_FAILED"
    assert reason(heat) == "WaitConditionTimeout: resources.wait: 1 of 2 received - half"
    assert status(heat, "after") == "INIT_COMPLETE"
    signal(heat)  # too late
    assert heat.status("s") == "CREATE_FAILED"


def test_one_failure_signal_fails_the_condition(heat: ProjectClient) -> None:
    start(heat, template(count=3))
    signal(heat, {"status": "FAILURE", "reason": "no disk"})
    assert heat.status("s") == "CREATE_FAILED"
    assert reason(heat) == "WaitConditionFailure: resources.wait: no disk"
    assert heat.stack("s")["stack_status_reason"].endswith("resources.wait: no disk")


@pytest.mark.parametrize(
    ("body", "piece"),
    [({"state": "SUCCESS"}, "state"), ({"status": "OK"}, "SUCCESS or FAILURE")],
)
def test_malformed_signal_is_refused(heat: ProjectClient, body: Json, piece: str) -> None:
    start(heat, template())
    answer = signal(heat, body)
    assert (answer.status_int, answer.json["error"]["type"]) == (400, "Invalid")
    assert piece in answer.json["error"]["message"]
    assert status(heat) == "CREATE_IN_PROGRESS"


def test_larger_count_waits_again_with_earlier_signals(heat: ProjectClient) -> None:
    start(heat, template())
    signal(heat)
    heat.update("s", template(count=2), hold=True)
    heat.service.run_due_work()
    assert status(heat) == "UPDATE_IN_PROGRESS"
    wait_id = heat.resource("s", "wait")["physical_resource_id"]
    signal(heat)
    assert heat.status("s") == "UPDATE_COMPLETE"
    assert heat.resource("s", "wait")["physical_resource_id"] == wait_id
    heat.update("s", template(count=2, timeout=700))
    assert heat.resource("s", "wait")["physical_resource_id"] != wait_id


def test_update_supersedes_a_waiting_condition(heat: ProjectClient) -> None:
    start(heat, template(count=5))
    heat.update("s", hot_template({"h": HANDLE}))
    assert heat.status("s") == "UPDATE_COMPLETE"
    assert [each["resource_name"] for each in heat.resources("s")] == ["h"]


def signals_of(heat: ProjectClient, name: str = "h") -> Json:
    path = f"{heat.path('s')}/resources/{name}/metadata"
    return heat.send("GET", path, leave_pending=True).json["metadata"]


def test_deleted_condition_clears_its_handle(heat: ProjectClient) -> None:
    """So that the next one waits anew: with the deletion's record, or not at all."""
    start(heat, template())
    signal(heat, {"data": "once"})
    rest = hot_template({"h": HANDLE})
    heat.update("s", rest, hold=True)
    while status(heat) == "CREATE_COMPLETE":
        assert signals_of(heat)
        heat.service.handle_next()
    assert (status(heat), signals_of(heat)) == ("DELETE_IN_PROGRESS", {})
    heat.service.run_due_work()
    assert heat.status("s") == "UPDATE_COMPLETE"
    heat.update("s", template(), hold=True)
    heat.service.run_due_work()
    assert status(heat) == "CREATE_IN_PROGRESS"
    signal(heat, {"data": "twice"})
    assert json.loads(heat.outputs("s")["data"]) == {"1": "twice"}


def test_replaced_condition_counts_signals_before_the_old_one_clears_them(
    heat: ProjectClient,
) -> None:
    start(heat, template())
    signal(heat, {"data": "once"})
    heat.update("s", template(timeout=700))
    assert heat.status("s") == "UPDATE_COMPLETE"
    assert json.loads(heat.outputs("s")["data"]) == {"1": "once"}
    assert signals_of(heat) == {}


def test_waiting_condition_is_deleted_and_clears_its_handle(heat: ProjectClient) -> None:
    start(heat, template(count=2))
    signal(heat)
    heat.update("s", hot_template({"h": HANDLE}))
    assert signals_of(heat) == {}


def test_retained_condition_does_not_clear_its_handle(heat: ProjectClient) -> None:
    body = template()
    body["resources"]["wait"]["deletion_policy"] = "Retain"
    start(heat, body)
    signal(heat)
    heat.update("s", hot_template({"h": HANDLE}))
    assert list(signals_of(heat)) == ["1"]


def test_update_keeps_the_timeout_of_an_unchanged_condition(heat: ProjectClient) -> None:
    start(heat, template(count=2, timeout=600))
    signal(heat)
    heat.service.clock.advance(400)
    heat.update("s", template(count=2, timeout=600, more=HANDLE), hold=True)
    heat.service.run_due_work()
    assert heat.status("s") == "UPDATE_IN_PROGRESS"
    due = heat.service.services.store.sweeps.get_next_observation_time()
    assert due - heat.service.clock() < timedelta(seconds=210)
    signal(heat)
    assert heat.status("s") == "UPDATE_COMPLETE"


def test_delete_supersedes_a_waiting_condition(heat: ProjectClient) -> None:
    start(heat, template(count=5))
    stack_id = heat.stack("s")["id"]
    heat.delete("s", leave_pending=True)
    heat.service.run_due_work()
    assert heat.status(stack_id) == "DELETE_COMPLETE"


def test_lost_message_loses_no_signal(heat: ProjectClient) -> None:
    """The signal and that somebody looks are one transaction: no message is needed."""
    start(heat, template())
    heat.send("POST", f"{heat.path('s')}/resources/h/signal", leave_pending=True)
    heat.service.bus.pending.clear()
    _engine, heat.service.observer = (
        heat.service.build_daemons()
    )  # another one, which knows nothing
    began = heat.service.clock()
    heat.service.run_due_work()  # its first sweep finds out what is due
    heat.service.run_due_work()
    assert heat.status("s") == "CREATE_COMPLETE"
    assert heat.service.clock() - began < timedelta(seconds=10)


def test_condition_with_an_unknown_handle_fails(heat: ProjectClient) -> None:
    body = template()
    body["resources"]["wait"]["properties"]["handle"] = "elsewhere"
    start(heat, body)
    assert heat.status("s") == "CREATE_FAILED"
    assert "no wait condition handle of this stack" in reason(heat)


def test_queue_without_users_fails_the_condition(heat: ProjectClient) -> None:
    """Nobody but a user of the stack could read the queue."""
    body = template()
    body["resources"]["h"] = {**HANDLE, "properties": {"signal_transport": "ZAQAR_SIGNAL"}}
    start(heat, body)
    assert heat.status("s") == "CREATE_FAILED"
    assert "the handle has no queue" in reason(heat)


def test_cloudformation_types(heat: ProjectClient) -> None:
    cloudformation: Json = {
        "AWSTemplateFormatVersion": "2010-09-09",
        "Resources": {
            "h": {"Type": "AWS::CloudFormation::WaitConditionHandle"},
            "wait": {
                "Type": "AWS::CloudFormation::WaitCondition",
                "Properties": {"Handle": {"Ref": "h"}, "Timeout": "60", "Count": "2"},
            },
        },
        "Outputs": {"data": {"Value": {"Fn::GetAtt": ["wait", "Data"]}}},
    }
    start(heat, cloudformation)
    answer = signal(heat, {"Status": "SUCCESS"})
    assert (answer.status_int, answer.json["error"]["type"]) == (400, "Invalid")
    for key in "ab":
        body = {"Status": "SUCCESS", "Reason": "r", "Data": f"d{key}", "UniqueId": key}
        assert signal(heat, body).status_int == 200
    assert heat.status("s") == "CREATE_COMPLETE"
    assert json.loads(heat.outputs("s")["data"]) == {"a": "da", "b": "db"}
    assert sorted(signals_of(heat)) == ["a", "b"]
    del cloudformation["Resources"]["wait"], cloudformation["Outputs"]
    heat.update("s", cloudformation)
    assert signals_of(heat) == {}


def test_update_handle_is_replaced_by_every_update(heat: ProjectClient) -> None:
    def body(value: str) -> Json:
        found = template()
        found["resources"]["h"] = {"type": "OS::Heat::UpdateWaitConditionHandle"}
        found["resources"]["other"] = {"type": "OS::Heat::Value", "properties": {"value": value}}
        return found

    body_of_signal = {"Status": "SUCCESS", "Reason": "r", "Data": "d", "UniqueId": "1"}
    start(heat, body("1"))
    signal(heat, body_of_signal)
    assert heat.status("s") == "CREATE_COMPLETE"
    for value in ("2", "2"):  # changed, and not
        before = {name: heat.resource("s", name)["physical_resource_id"] for name in ("h", "wait")}
        heat.update("s", body(value), hold=True)
        heat.service.run_due_work()
        assert heat.status("s") == "UPDATE_IN_PROGRESS"
        assert heat.resource("s", "wait")["resource_status"] == "CREATE_IN_PROGRESS"
        signal(heat, body_of_signal)
        assert heat.status("s") == "UPDATE_COMPLETE"
        after = {name: heat.resource("s", name)["physical_resource_id"] for name in ("h", "wait")}
        assert all(after[name] != before[name] for name in before)
    heat.perform_action("s", "check")
    heat.delete("s")


def test_preview_replaces_an_update_handle(heat: ProjectClient) -> None:
    value = {"get_resource": "h"}
    body = hot_template(
        {
            "h": {"type": "OS::Heat::UpdateWaitConditionHandle"},
            "reads": {"type": "OS::Heat::Value", "properties": {"value": value}},
        }
    )
    heat.create("s", body)
    answer = heat.send("PUT", f"{heat.path('s')}/preview", {"template": body})
    changes = answer.json["resource_changes"]
    assert [each["resource_name"] for each in changes["replaced"]] == ["h"]
    assert [each["resource_name"] for each in changes["updated"]] == ["reads"]
    heat.delete("s")


def test_signal_while_the_condition_is_started_counts(
    heat: ProjectClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    read_signals = WaitCondition.create

    def create(condition: WaitCondition, context: ResourceContext) -> VerbResult:
        result = read_signals(condition, context)
        assert signal(heat, {"data": "late"}, run=False).status_int == 200
        return result

    monkeypatch.setattr(WaitCondition, "create", create)
    start(heat, template())
    assert (status(heat), heat.status("s")) == ("CREATE_COMPLETE", "CREATE_COMPLETE")
    assert json.loads(heat.outputs("s")["data"]) == {"1": "late"}


def test_signal_that_an_update_overtakes_counts(
    heat: ProjectClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    start(heat, template())

    deliver = SignalsController._deliver

    def update_before_the_delivery(controller: SignalsController, *details: Any) -> None:
        heat.update("s", template(other={"type": "OS::Heat::None"}), hold=True)
        heat.service.run_due_work()
        assert status(heat, "other") == "CREATE_COMPLETE"
        deliver(controller, *details)

    monkeypatch.setattr(SignalsController, "_deliver", update_before_the_delivery)
    signal(heat)
    assert (status(heat), heat.status("s")) == ("CREATE_COMPLETE", "UPDATE_COMPLETE")
