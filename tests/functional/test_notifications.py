"""What other services are told of stacks, through oslo.messaging's driver for tests."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from oslo_config import cfg
from oslo_messaging.notify import _impl_test

from heat_convergence.common import errors
from heat_convergence.conf import opts
from heat_convergence.db import goals
from heat_convergence.db.reads import stacks
from heat_convergence.rpc import notifications
from tests.functional.harness import LocalService
from tests.functional.houses import make

Json = Any
TEMPLATE = {
    "heat_template_version": "2016-10-14", "description": "Told of",
    "resources": {"r": {"type": "OS::Heat::TestResource",
                        "properties": {"fail": {"get_param": "fail"}}}},
    "parameters": {"fail": {"type": "boolean", "default": False}},
}  # fmt: skip


@pytest.fixture
def conf() -> cfg.ConfigOpts:
    conf = cfg.ConfigOpts()
    conf([], default_config_files=[], default_config_dirs=[])
    opts.register(conf)
    notifications.create_notification_transport(conf)  # registers the library's options
    conf.set_override("transport_url", "fake://")
    conf.set_override("driver", ["test"], group="oslo_messaging_notifications")
    conf.set_override("host", "here")
    return conf


@pytest.fixture
def service(tmp_path: Any, conf: cfg.ConfigOpts) -> Iterator[LocalService]:
    service = LocalService(f"sqlite:///{tmp_path}/hc.sqlite")

    def stack_of(stack_id: str) -> Any:
        with service.database.read() as connection:
            stack = stacks.get(connection, stack_id)
            goal = goals.get(connection, stack.goal_id)
        return stack, goal.description

    sender = notifications.notifier(conf)
    service.services.store._told = notifications.StackNotifications(sender, "INFO", stack_of)
    _impl_test.reset()
    yield service
    _impl_test.reset()
    service.close()


def told() -> list[tuple[str, Json]]:
    return [(message["event_type"], message["payload"])
            for _context, message, _priority, _retry in _impl_test.NOTIFICATIONS]


def test_a_life_is_told(service: LocalService) -> None:
    path = make(service, template=TEMPLATE, tags="red,blue")
    service.send("POST", f"{path}/actions", {"suspend": None})
    service.send("PUT", path, {"template": TEMPLATE})  # refused
    service.send("POST", f"{path}/actions", {"resume": None})
    service.send("PUT", path, {"template": TEMPLATE, "parameters": {"fail": True}})
    service.send("DELETE", path)
    found = told()
    assert [kind for kind, _body in found] == [
        f"stack.{action}.{suffix}"
        for action, end in (("create", "end"), ("suspend", "end"), ("resume", "end"),
                            ("update", "error"), ("delete", "end"))
        for suffix in ("start", end)
    ]  # fmt: skip
    _kind, payload = found[1]
    assert {**payload, "create_at": None, "updated_at": None} == {
        "tenant_id": "p", "user_id": "noauth", "user_identity": "noauth", "username": "noauth",
        "stack_identity": path.rsplit("/", 1)[1], "stack_name": "s",
        "state": "CREATE_COMPLETE", "state_reason": "Stack CREATE completed successfully",
        "create_at": None, "updated_at": None, "tags": ["red", "blue"],
        "description": "Told of",
    }  # fmt: skip
    (_context, message, priority, _retry) = _impl_test.NOTIFICATIONS[0]
    assert (message["publisher_id"], priority) == ("orchestration.here", "INFO")


def test_what_cannot_be_told_stops_nothing(service: LocalService) -> None:
    def away(_stack_id: str) -> Any:
        raise errors.Unavailable("the database is away")

    service.services.store._told._stack_of = away
    path = make(service, template=TEMPLATE)
    assert service.send("GET", path).json["stack"]["stack_status"] == "CREATE_COMPLETE"
    assert told() == []


def test_nobody_is_told_without_a_driver(conf: cfg.ConfigOpts) -> None:
    conf.set_override("driver", [], group="oslo_messaging_notifications")
    assert notifications.notifier(conf) is None
