"""Checks of the message broker: each node, the login and the permissions.

Run by ``doctor``; declares a queue of its own for the moment of the check.
"""

from __future__ import annotations

from collections.abc import Iterator

import oslo_messaging
from oslo_config import cfg

from heat_convergence.cli.diagnosis.finding import Finding, Severity, one_line
from heat_convergence.rpc import broker_probe
from heat_convergence.rpc.transport import is_refusal


def check_broker(conf: cfg.ConfigOpts) -> Iterator[Finding]:
    """Check every node of the broker that ``transport_url`` names."""
    try:
        url = oslo_messaging.TransportURL.parse(conf)
    except (oslo_messaging.InvalidTransportURL, ValueError):
        return  # ``check_files`` names the mistake
    if url.transport not in ("rabbit", "kombu"):
        yield Finding("broker", Severity.OK, f"{url.transport}: not checked")
        return
    for result in broker_probe.probe_nodes(conf, url):
        if result.error is None:
            yield Finding("broker", Severity.OK, f"{result.address} sends and receives messages")
        elif is_refusal(result.error):
            yield Finding(
                "broker",
                Severity.ERROR,
                f"{result.address} refuses the user: {one_line(result.error)}",
                "correct transport_url, or give the user its permissions with rabbitmqctl",
            )
        else:
            yield Finding(
                "broker",
                Severity.ERROR,
                f"{result.address} does not answer: {one_line(result.error)}",
                "start the broker, and check host and port in transport_url",
            )
