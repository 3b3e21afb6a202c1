"""``convergence.ports.Bus`` over oslo.messaging: casts to engines and observers.

Sends hints and never fails for it: what cannot be sent is logged, and the
observers' sweep finds the job again (RULE 1).  Called by api, engine and observer.
"""

from __future__ import annotations

import logging
import threading
import time
from collections import Counter
from collections.abc import Callable, Sequence

import oslo_messaging
from kombu.exceptions import KombuError
from oslo_messaging import exceptions as messaging_exc

from heat_convergence.rpc import messages

LOG = logging.getLogger(__name__)

# A connection that exists fails with oslo.messaging's errors; one that can't even be
# opened lets through what it met below.
_AWAY = (messaging_exc.MessagingException, KombuError, OSError)


class RpcBus:
    """``sent`` counts messages by method, ``dropped`` those that could not be sent."""

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
        self._quiet_s = send_pause_s
        self._monotonic = monotonic
        self._quiet_until = float("-inf")
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

    def converge(self, stack_id: str, version: int, resource_ids: Sequence[str]) -> None:
        self._cast(messages.ENGINE_TOPIC, "converge", stack_id, version, resource_ids)

    def observe(self, stack_id: str, version: int, resource_ids: Sequence[str]) -> None:
        self._cast(messages.OBSERVER_TOPIC, "observe", stack_id, version, resource_ids)

    def _cast(
        self, topic: str, method: str, stack_id: str, version: int, ids: Sequence[str]
    ) -> None:
        # While the broker is away each attempt takes seconds; one in a while is
        # enough to notice that it is back.
        if self._monotonic() < self._quiet_until:
            self._count(self.dropped_counts, method)
            return
        payload = messages.encode_hint(stack_id, version, ids)
        try:
            self._clients[topic].cast(messages.current_context(), method, message=payload)
        except _AWAY as error:
            self._quiet_until = self._monotonic() + self._quiet_s
            self._count(self.dropped_counts, method)
            LOG.warning(
                "the bus takes no %s message for stack %s: %s; the sweep will repeat it",
                method,
                stack_id,
                error,
            )
        else:
            self._count(self.sent_counts, method)

    def _count(self, counter: Counter[str], method: str) -> None:
        with self._lock:
            counter[method] += 1
