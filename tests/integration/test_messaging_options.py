"""Options of oslo.messaging with a real broker: a message is answered with each of them."""

from __future__ import annotations

import os
import uuid
from typing import Any

import oslo_messaging
import pytest
from oslo_config import cfg

from heat_convergence.rpc import transport


class Echo:
    """An endpoint that returns its argument."""

    def echo(self, _context: Any, value: str) -> str:
        """Return the value."""
        return value


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"amqp_auto_delete": True, "rabbit_quorum_queue": False},
        {"kombu_compression": "gzip"},
        {"kombu_compression": "bzip2"},
        {"kombu_failover_strategy": "shuffle"},
        {"rabbit_login_method": "PLAIN"},
        {"rabbit_quorum_queue": False, "enable_cancel_on_failover": True},
        {"rabbit_transient_quorum_queue": True},
        {"rabbit_quorum_delivery_limit": 3, "rabbit_quorum_max_memory_length": 100},
        {"heartbeat_timeout_threshold": 0},
        {"direct_mandatory_flag": False},
        {"use_queue_manager": True},
        {
            "use_queue_manager": True,
            "rabbit_stream_fanout": True,
            "rabbit_transient_quorum_queue": True,
        },
        {"rpc_conn_pool_size": 1, "conn_pool_min_size": 1},
    ],
    ids=lambda options: " ".join(options) or "default",
)
def test_message_is_answered(
    rabbit_url: str, options: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    # The queue manager reads the leader of the process group, which a test runner may outlive.
    monkeypatch.setattr("os.getpgrp", os.getpid)
    conf = cfg.ConfigOpts()
    conf([], default_config_files=[], default_config_dirs=[])
    transport.register_rabbit_options(conf)
    for name, value in options.items():
        conf.set_override(name, value, group="oslo_messaging_rabbit")
    name = f"test-{uuid.uuid4().hex}"
    bus = transport.create_transport(conf, url=rabbit_url, exchange=name)
    server = oslo_messaging.get_rpc_server(
        bus, oslo_messaging.Target(topic=name, server=name), [Echo()], executor="threading"
    )
    server.start()
    try:
        client = oslo_messaging.get_rpc_client(bus, oslo_messaging.Target(topic=name), timeout=30)
        assert client.call({}, "echo", value="v") == "v"
    finally:
        server.stop()
        server.wait()
        bus.cleanup()
