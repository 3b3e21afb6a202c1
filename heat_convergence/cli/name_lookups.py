"""Lookups of host names on eventlet, in native threads.

Called by ``concurrency`` before it patches the sockets. Eventlet's own resolver takes 8 MB of each
process, and knows neither the order of sources in ``/etc/nsswitch.conf`` nor modules of it. The
system's resolver would stop all greenthreads of the process while a name server does not answer.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

from eventlet import patcher, tpool
from eventlet.green import socket

_native_socket: Any = patcher.original("socket")
_native_threading: Any = patcher.original("threading")
_OTHER_LOOKUPS = ("gethostbyname", "gethostbyname_ex", "getnameinfo")


def look_up_in_native_threads() -> None:
    """Make eventlet's sockets, with which it patches Python's, look names up in native threads."""
    socket.getaddrinfo = _getaddrinfo
    for name in _OTHER_LOOKUPS:
        setattr(socket, name, _in_native_thread(getattr(_native_socket, name)))
    # The threads would not exist in the child, where a lookup would wait for them forever.
    os.register_at_fork(before=tpool.killall)


def _in_native_thread(lookup: Callable[..., Any]) -> Callable[..., Any]:
    def look_up(*arguments: Any, **options: Any) -> Any:
        if _native_threading.current_thread() is not _native_threading.main_thread():
            return lookup(*arguments, **options)  # it blocks no greenthread of the main thread
        return tpool.execute(lookup, *arguments, **options)

    return look_up


_look_up_addresses = _in_native_thread(_native_socket.getaddrinfo)


def _getaddrinfo(
    host: Any,
    port: Any,
    family: int = 0,
    type: int = 0,  # noqa: A002  # the parameter of Python's function
    proto: int = 0,
    flags: int = 0,
) -> Any:
    """Return the addresses of a host as ``socket.getaddrinfo`` does; a number needs no thread."""
    numeric = flags | _native_socket.AI_NUMERICHOST
    try:
        return _native_socket.getaddrinfo(host, port, family, type, proto, numeric)
    except _native_socket.gaierror:
        return _look_up_addresses(host, port, family, type, proto, flags)
