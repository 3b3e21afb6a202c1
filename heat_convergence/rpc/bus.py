"""The message bus between the daemons: casts to engines and observers over oslo.messaging.

Implements ``convergence.ports.bus.Bus``. Sends hints and never raises: a message that cannot be
sent is logged, and the sweep of the observers finds the job again (RULE 1). Called by api,
engine and observer.
"""

from __future__ import annotations

import logging
import threading
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace

import oslo_messaging
from kombu.exceptions import KombuError
from oslo_messaging import exceptions as messaging_exc

from heat_convergence.common import metrics
from heat_convergence.common.telemetry.request_contexts import current_request
from heat_convergence.convergence.ports.bus import ResourceHint, shown_stacks
from heat_convergence.rpc import messages

LOG = logging.getLogger(__name__)

# An open connection fails with errors of oslo.messaging; one that cannot be opened lets
# errors of kombu and of the socket through.
_SEND_ERRORS = (messaging_exc.MessagingException, KombuError, OSError)


class RpcBus:
    """Casts hints to engines and observers.

    Attributes:
        sent_counts: Number of messages sent, by method.
        dropped_counts: Number of messages that could not be sent, by method.
    """

    def __init__(
        self,
        transport: oslo_messaging.RPCTransport,
        *,
        send_retries: int = 1,
        send_pause_s: float = 5.0,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self.sent_counts: Counter[str] = Counter()
        self.dropped_counts: Counter[str] = Counter()
        self._send_pause_s = send_pause_s
        self._monotonic = monotonic
        self._paused_until = float("-inf")
        self._lock = threading.Lock()
        self._clients = {
            topic: oslo_messaging.get_rpc_client(
                transport,
                oslo_messaging.Target(topic=topic, version=messages.RPC_VERSION),
                serializer=messages.ContextSerializer(),
                retry=send_retries,
            )
            for topic in (messages.ENGINE_TOPIC, messages.OBSERVER_TOPIC)
        }

    def converge(self, hints: Sequence[ResourceHint]) -> None:
        """Ask an engine to run the jobs of resources."""
        self._cast_each(messages.ENGINE_TOPIC, "converge", hints)

    def observe(self, hints: Sequence[ResourceHint]) -> None:
        """Ask an observer to look at resources."""
        self._cast_each(messages.OBSERVER_TOPIC, "observe", hints)

    def _cast_each(self, topic: str, method: str, hints: Sequence[ResourceHint]) -> None:
        """Send hints as one message, resources of one stack in as few as receivers accept.

        A hint without resources is sent, too.
        """
        if len(hints) > 1:
            self._cast(topic, method, hints)
            return
        (hint,) = hints
        for at in range(0, max(len(hint.resource_ids), 1), messages.MAX_RESOURCE_IDS):
            part = hint.resource_ids[at : at + messages.MAX_RESOURCE_IDS]
            self._cast(topic, method, [replace(hint, resource_ids=part)])

    def _cast(self, topic: str, method: str, hints: Sequence[ResourceHint]) -> None:
        # While the broker is unreachable each attempt takes seconds; an occasional one is
        # enough to notice that it is back.
        if self._monotonic() < self._paused_until:
            self._count(self.dropped_counts, method)
            metrics.MESSAGES.labels(method, "dropped").inc()
            return
        try:
            self._send(self._clients[topic], method, hints)
        except _SEND_ERRORS as error:
            self._paused_until = self._monotonic() + self._send_pause_s
            self._count(self.dropped_counts, method)
            metrics.MESSAGES.labels(method, "dropped").inc()
            LOG.warning(
                "message not sent, the sweep will repeat it:"
                " method=%(method)s stack=%(stack)s error=%(error)s",
                {"method": method, "stack": shown_stacks(hints), "error": error},
            )
        else:
            self._count(self.sent_counts, method)
            metrics.MESSAGES.labels(method, "sent").inc()

    def _send(
        self, client: oslo_messaging.RPCClient, method: str, hints: Sequence[ResourceHint]
    ) -> None:
        if len(hints) == 1:  # as receivers of the first version understand it
            payload = messages.encode_hint(hints[0])
            client = client.prepare(version=messages.FIRST_RPC_VERSION)
        else:
            method, payload = f"{method}_together", messages.encode_hints(hints)
        client.cast(current_request(), method, message=payload)

    def _count(self, counter: Counter[str], method: str) -> None:
        with self._lock:
            counter[method] += 1
