"""The extensions that services offer, which some types need.

Called when a request is validated and when types are listed, by types whose schema names an
extension. Decides how long a list is used: one that has the extension for good, since nobody
removes one that resources use; one without it, or that could not be read, for a minute.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from datetime import datetime, timedelta

from heat_convergence.clients.rest_client import CloudClient, CloudRequest
from heat_convergence.common.clock import Clock, utc_now
from heat_convergence.common.errors import Error
from heat_convergence.common.single_flight import SingleFlight

MAX_CACHED = 2000  # lists, of projects and services
RETRY_AFTER = timedelta(minutes=1)
_PATH = "/extensions"
_Key = tuple[str, str]
_Listed = tuple[datetime, frozenset[str] | None]  # None: the list could not be read


class ServiceExtensions:
    """Aliases of extensions by cloud and service; thread-safe, bounded, one a process."""

    def __init__(self, clock: Clock = utc_now) -> None:
        """Start empty."""
        self._clock = clock
        self._lock = threading.Lock()
        self._reads: SingleFlight[_Listed] = SingleFlight()
        self._lists: OrderedDict[_Key, _Listed] = OrderedDict()

    def lacks(self, cloud: CloudClient, service: str, alias: str) -> bool:
        """Return whether a service lacks an extension; False if its list cannot be read."""
        key = (cloud.cache_key, service)
        _at, aliases = self._reads.run(
            (key, alias),
            lambda: self._find(key, alias),
            lambda: self._read(key, cloud),
        )
        return aliases is not None and alias not in aliases

    def _find(self, key: _Key, alias: str) -> _Listed | None:
        with self._lock:
            listed = self._lists.get(key)
        if listed is None:
            return None
        at, aliases = listed
        has = aliases is not None and alias in aliases
        return listed if has or self._clock() - at < RETRY_AFTER else None

    def _read(self, key: _Key, cloud: CloudClient) -> _Listed:
        aliases: frozenset[str] | None
        try:
            body = cloud.send(CloudRequest(key[1], "GET", _PATH)).body
            aliases = frozenset(str(each["alias"]) for each in body["extensions"])
        except (Error, KeyError, TypeError):  # decided when the resource is created
            aliases = None
        listed = (self._clock(), aliases)
        with self._lock:
            self._lists[key] = listed
            self._lists.move_to_end(key)
            while len(self._lists) > MAX_CACHED:
                self._lists.popitem(last=False)
        return listed
