"""The threads in which an observer listens to the notifications of other services.

Decides when a listener that could not be started is tried again. Nothing waits for them: a
worker starts, works and drains while no broker answers.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Sequence
from functools import partial

import oslo_messaging
from oslo_config import cfg

from heat_convergence.cli.startup.waiting import error_of
from heat_convergence.common.error_boundary import BoundaryName, ErrorBoundary
from heat_convergence.common.error_log import ErrorLog
from heat_convergence.rpc.notification_listener import Receive, ServiceListener, parse_url

LOG = logging.getLogger(__name__)
_FIRST_PAUSE_S, _MAX_PAUSE_S = 1.0, 60.0
_START_TIMEOUT_S = 15.0


class NotificationThreads:
    """The listeners of one worker process, one for each URL.

    Args:
        conf: The configuration.
        receive: Receives each notification.
        stop_event: Set when the process stops.
        errors: Log of unexpected errors.
    """

    def __init__(
        self,
        conf: cfg.ConfigOpts,
        receive: Receive,
        stop_event: threading.Event,
        errors: ErrorLog,
    ) -> None:
        self.conf = conf
        self._receive = receive
        self._stop_event = stop_event
        self._errors = errors
        self._listeners: list[ServiceListener] = []
        self._lock = threading.Lock()

    @property
    def urls(self) -> Sequence[str]:
        """The URLs to listen at; the empty one is that of the service's own notifications."""
        options = self.conf.notification_listener
        if not options.enabled:
            return ()
        return tuple(options.transport_urls) or ("",)

    def start(self) -> None:
        """Start listening in the background, if the option is on."""
        for url in self.urls:
            work = partial(self._contain, partial(self._listen, url))
            threading.Thread(target=work, name="notifications", daemon=True).start()

    def stop(self) -> None:
        """Stop the listeners that have started."""
        with self._lock:
            listeners, self._listeners = self._listeners, []
        for listener in listeners:
            self._contain(listener.stop)

    def _contain(self, work: Callable[[], object]) -> None:
        ErrorBoundary(BoundaryName.DAEMON, self._errors).contain(work)

    def _listen(self, url: str) -> None:
        """Start a listener, again and again until it has started."""
        pause_s, warned = _FIRST_PAUSE_S, threading.Event()
        place = _describe(parse_url(self.conf, url))
        timer = threading.Timer(_START_TIMEOUT_S, _warn, (warned, place, "it does not answer"))
        timer.daemon = True
        timer.start()
        while not self._stop_event.is_set():
            error = error_of(partial(self._start_listener, url))
            timer.cancel()
            if error is None:
                LOG.info("listening to notifications: url=%(url)s", {"url": place})
                return
            _warn(warned, place, (str(error).splitlines() or [type(error).__name__])[0])
            self._stop_event.wait(pause_s)
            pause_s = min(pause_s * 2, _MAX_PAUSE_S)

    def _start_listener(self, url: str) -> None:
        listener = ServiceListener(self.conf, url, self._receive)
        listener.start()
        with self._lock:
            self._listeners.append(listener)


def _warn(warned: threading.Event, place: str, reason: str) -> None:
    """Warn once that notifications do not arrive."""
    if not warned.is_set():
        warned.set()
        LOG.warning(
            "no notifications until the broker answers, resources are read in intervals:"
            " url=%(url)s error=%(error)s",
            {"url": place, "error": reason},
        )


def _describe(url: oslo_messaging.TransportURL) -> str:
    """Return a URL without user, password and options."""
    hosts = ",".join(f"{host.hostname}:{host.port}" for host in url.hosts)
    return f"{url.transport}://{hosts}/{url.virtual_host or ''}"
