"""Tests of the notifications about stacks, with oslo.messaging's test driver."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from oslo_config import cfg
from oslo_messaging.notify import _impl_test

from heat_convergence.cli.components.assembly import notified_stack_finder
from heat_convergence.clients.credentials import Credential
from heat_convergence.clients.settings import DeferredAuthMethod
from heat_convergence.common.failures import Unavailable
from heat_convergence.conf import opts
from heat_convergence.convergence.model.job import ObservedState
from heat_convergence.db.statements import credentials
from heat_convergence.resources.builtin.local_type import LocalType
from heat_convergence.resources.protocol.schema import TypeSchema
from heat_convergence.resources.protocol.verb_values import ResourceContext, VerbResult
from heat_convergence.rpc import notifications
from tests.functional.fake_server import create_stack
from tests.functional.harness import LocalService

Json = Any
TEMPLATE = {
    "heat_template_version": "2016-10-14", "description": "Told of",
    "resources": {"r": {"type": "OS::Heat::TestResource",
                        "properties": {"fail": {"get_param": "fail"}}}},
    "parameters": {"fail": {"type": "boolean", "default": False}},
}  # fmt: skip


class FailingMemberType(LocalType):
    """Breaks when it is made while ``broken``."""

    name = "Test::FailingMember"
    schema = TypeSchema()
    broken = False

    def create(self, view: ResourceContext) -> VerbResult:
        state = ObservedState.FAILED if self.broken else ObservedState.READY
        return VerbResult(state, view.physical_name, reason="it broke")


SCALING = {
    "heat_template_version": "2016-10-14", "description": "Grows",
    "resources": {
        "group": {
            "type": "OS::Heat::AutoScalingGroup",
            "properties": {
                "min_size": 1, "max_size": 4, "resource": {"type": FailingMemberType.name},
            },
        },
        "up": {
            "type": "OS::Heat::ScalingPolicy",
            "properties": {
                "auto_scaling_group_id": {"get_resource": "group"},
                "adjustment_type": "change_in_capacity", "scaling_adjustment": 2,
            },
        },
    },
}  # fmt: skip


@pytest.fixture
def conf() -> cfg.ConfigOpts:
    conf = cfg.ConfigOpts()
    conf([], default_config_files=[], default_config_dirs=[])
    opts.register_all_opts(conf)
    notifications.create_notification_transport(conf)  # registers the library's options
    conf.set_override("transport_url", "fake://")
    conf.set_override("driver", ["test"], group="oslo_messaging_notifications")
    conf.set_override("host", "here")
    return conf


@pytest.fixture
def service(tmp_path: Any, conf: cfg.ConfigOpts) -> Iterator[LocalService]:
    FailingMemberType.broken = False
    service = LocalService(f"sqlite:///{tmp_path}/hc.sqlite", types=(FailingMemberType(),))
    stack_of = notified_stack_finder(service.database)
    sender = notifications.create_notifier(conf)
    service.services.store._notify = notifications.StackNotifier(sender, "INFO", stack_of)
    _impl_test.reset()
    yield service
    _impl_test.reset()
    service.close()


def sent_notifications() -> list[tuple[str, Json]]:
    return [
        (message["event_type"], message["payload"])
        for _context, message, _priority, _retry in _impl_test.NOTIFICATIONS
    ]


def test_stack_actions_are_notified(service: LocalService) -> None:
    path = create_stack(service, template=TEMPLATE, tags="red,blue")
    service.send("POST", f"{path}/actions", {"suspend": None})
    service.send("PUT", path, {"template": TEMPLATE})  # refused
    service.send("POST", f"{path}/actions", {"resume": None})
    service.send("PUT", path, {"template": TEMPLATE, "parameters": {"fail": True}})
    service.send("DELETE", path)
    found = sent_notifications()
    assert [event_type for event_type, _body in found] == [
        f"orchestration.stack.{action}.{suffix}"
        for action, end in (("create", "end"), ("suspend", "end"), ("resume", "end"),
                            ("update", "error"), ("delete", "end"))
        for suffix in ("start", end)
    ]  # fmt: skip
    _event_type, payload = found[1]
    assert {**payload, "create_at": None, "updated_at": None} == {
        "tenant_id": "p", "user_id": "noauth", "user_identity": None, "username": "noauth",
        "stack_identity": path.rsplit("/", 1)[1], "stack_name": "s",
        "state": "CREATE_COMPLETE", "state_reason": "Stack CREATE completed successfully",
        "create_at": None, "updated_at": None, "tags": ["red", "blue"],
        "description": "Told of",
    }  # fmt: skip
    (_context, message, priority, _retry) = _impl_test.NOTIFICATIONS[0]
    assert (message["publisher_id"], priority) == ("orchestration.here", "INFO")


def test_notification_has_user_id_and_name(service: LocalService) -> None:
    path = create_stack(service, template=TEMPLATE)
    acted_for = Credential(DeferredAuthMethod.TRUSTS, "7" * 32, "p", {"trust_id": "t"})
    with service.database.write() as connection:
        stack_id = path.rsplit("/", 1)[1]
        credentials.upsert(connection, stack_id, acted_for.dump(), service.clock())
    _impl_test.reset()
    service.send("POST", f"{path}/actions", {"suspend": None})
    for _event_type, payload in sent_notifications():
        assert payload["user_identity"] == "7" * 32
        assert (payload["user_id"], payload["username"]) == ("noauth", "noauth")


def scalings(path: str) -> list[tuple[str, Json, Json]]:
    """Kind, capacity and message of each; what all have is looked at."""
    found = [
        (event_type, body)
        for event_type, body in sent_notifications()
        if event_type.startswith("orchestration.autoscaling.")
    ]
    for _event_type, payload in found:
        assert payload["stack_identity"] == path.rsplit("/", 1)[1]
        assert (payload["adjustment"], payload["adjustment_type"]) == (2, "change_in_capacity")
        assert (payload["description"], payload["state"]) == ("Grows", "CREATE_COMPLETE")
        assert payload["groupname"].startswith("s-group-")
    return [
        (event_type, payload["capacity"], payload["message"].replace(payload["groupname"], "G"))
        for event_type, payload in found
    ]


def test_group_scaling_is_notified(service: LocalService) -> None:
    path = create_stack(service, template=SCALING)
    assert scalings(path) == []  # what stacks do themselves is no scaling
    service.send("POST", f"{path}/resources/up/signal")
    assert scalings(path) == [
        ("orchestration.autoscaling.start", 1, "Start resizing the group G"),
        ("orchestration.autoscaling.end", 3, "End resizing the group G"),
    ]
    _impl_test.reset()
    FailingMemberType.broken = True
    service.send("POST", f"{path}/resources/up/signal")
    (_start, (event_type, capacity, message)) = scalings(path)
    assert (event_type, capacity) == ("orchestration.autoscaling.error", 3)
    assert "it broke" in message
    _impl_test.reset()
    FailingMemberType.broken = False
    service.send("PATCH", path, {"template": SCALING})
    assert scalings(path) == []


def test_failing_notification_does_not_fail_the_action(service: LocalService) -> None:
    def away(_stack_id: str) -> Any:
        raise Unavailable("the database is away")

    service.services.store._notify._find_stack = away
    path = create_stack(service, template=TEMPLATE)
    assert service.send("GET", path).json["stack"]["stack_status"] == "CREATE_COMPLETE"
    assert sent_notifications() == []


def test_nothing_is_sent_without_a_driver(conf: cfg.ConfigOpts) -> None:
    conf.set_override("driver", [], group="oslo_messaging_notifications")
    assert notifications.create_notifier(conf) is None
