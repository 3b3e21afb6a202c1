"""Spans of requests, jobs, calls and observations, for the tracer that a daemon has loaded.

Called by ``api``, ``engine``, ``observer`` and ``clients`` around their work. Without a tracer,
the default, a span is one object that does nothing. Attributes hold ids, names and outcomes, and
never texts of errors, properties or queries, which may contain secrets.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractContextManager, nullcontext
from typing import Protocol

from heat_convergence.common.telemetry.request_contexts import current_request_id

AttributeValue = str | int


class TraceSpan(Protocol):
    """A piece of work with a name, a start and an end."""

    def record(self, name: str, value: AttributeValue) -> None:
        """Add an attribute that is known only later."""


class Tracer(Protocol):
    """A library that collects spans."""

    def span(
        self, name: str, attributes: Mapping[str, AttributeValue], request_id: str | None
    ) -> AbstractContextManager[TraceSpan]:
        """Return a span that lasts as long as its block, in the trace of the request.

        Spans inside the block, in the same thread, become its children.
        """

    def close(self) -> None:
        """Send what has been collected."""


class _NoSpan:
    def record(self, name: str, value: AttributeValue) -> None:
        """Do nothing."""


class Tracing:
    """The tracer of this process, if it has one."""

    tracer: Tracer | None = None


_NO_SPAN: AbstractContextManager[TraceSpan] = nullcontext(_NoSpan())


def span(
    name: str, request_id: str | None = None, **attributes: AttributeValue
) -> AbstractContextManager[TraceSpan]:
    """Return the span of a block.

    Args:
        name: The type of work; the same for all resources and stacks.
        request_id: The request, unless the thread works for it already.
        attributes: What the work is about.
    """
    tracer = Tracing.tracer
    if tracer is None:
        return _NO_SPAN
    return tracer.span(name, attributes, request_id or current_request_id())
