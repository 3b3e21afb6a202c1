"""Spans for osprofiler, the tracing library of OpenStack.

Loaded by ``setup`` alone. The base id of a trace is the UUID of its request's id, so that all
daemons add to the same trace. keystoneauth passes the trace on to other services that share the
key.

Source: https://docs.openstack.org/osprofiler/latest/
"""

from __future__ import annotations

import sys
import uuid
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from oslo_config import cfg
from osprofiler import notifier, profiler

from heat_convergence.cli.startup.startup_state import StartupProblem
from heat_convergence.common.telemetry.tracing import AttributeValue

PROJECT = "heat_convergence"


class OsprofilerSpan:
    """A span that can get further attributes."""

    def __init__(self) -> None:
        self.attributes: dict[str, AttributeValue] = {}

    def record(self, name: str, value: AttributeValue) -> None:
        """Add an attribute that is known only later."""
        self.attributes[name] = value


class OsprofilerTracer:
    """``common.telemetry.tracing.Tracer`` for osprofiler.

    Args:
        notify: Function of osprofiler's driver that stores a start or an end.
        hmac_key: Key that signs what goes to other services.
    """

    def __init__(self, notify: Callable[..., None], hmac_key: str) -> None:
        notifier.set(notify)
        self._hmac_key = hmac_key

    @contextmanager
    def span(
        self, name: str, attributes: Mapping[str, AttributeValue], request_id: str | None
    ) -> Iterator[OsprofilerSpan]:
        """Return a span that lasts as long as its block, in the trace of the request."""
        outermost = profiler.get() is None
        if outermost:
            profiler.init(self._hmac_key, base_id=_uuid_of(request_id))
        found = OsprofilerSpan()
        profiler.start(name, info={**attributes, "request_id": request_id or ""})
        handled = sys.exception()
        try:
            yield found
        finally:
            error = sys.exception()
            if error is not None and error is not handled:
                found.record("error_type", type(error).__name__)
            profiler.stop(info=dict(found.attributes))
            if outermost:
                profiler.clean()

    def close(self) -> None:
        """Do nothing: every start and end has been stored already."""


def create_tracer(conf: cfg.ConfigOpts) -> OsprofilerTracer:
    """Return the tracer that the configuration describes.

    Raises:
        StartupProblem: There is no key.
    """
    options = conf.tracing
    if not options.osprofiler_hmac_key:
        raise StartupProblem("[tracing] backend = osprofiler needs [tracing] osprofiler_hmac_key")
    notify: Callable[..., Any] = notifier.create(
        options.osprofiler_connection,
        conf=conf,
        project=PROJECT,
        service=conf.prog or PROJECT,
        host=conf.host,
    )
    return OsprofilerTracer(notify, options.osprofiler_hmac_key)


def _uuid_of(request_id: str | None) -> str | None:
    """Return the UUID of a request's id; None, so that the library makes one, without it."""
    try:
        return str(uuid.UUID((request_id or "").removeprefix("req-")))
    except ValueError:
        return None
