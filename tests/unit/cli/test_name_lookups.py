"""Lookups of host names on eventlet, checked in separate processes."""

from __future__ import annotations

import subprocess
import sys

import pytest

pytestmark = pytest.mark.processes

# A lookup that a name server does not answer at once; put in place before it is wrapped.
_SLOW_LOOKUP = """
import os
os.environ["EVENTLET_NO_GREENDNS"] = "yes"
from eventlet import patcher
native = patcher.original("socket")
real = native.getaddrinfo
def slow(host, port, family=0, type=0, proto=0, flags=0):
    if host != "slow.example.com":
        return real(host, port, family, type, proto, flags)
    if flags & native.AI_NUMERICHOST:
        raise native.gaierror(native.EAI_NONAME, "no number")
    patcher.original("time").sleep(0.5)
    return real("127.0.0.1", port, family, type, proto, flags)
native.getaddrinfo = slow
"""
_BEGIN = """
import os, sys
from heat_convergence.cli import concurrency
concurrency.set_up_backend("eventlet")
import socket, eventlet
from eventlet import patcher, tpool
native = patcher.original("socket")
"""
_OTHERS_RUN_MEANWHILE = (
    _SLOW_LOOKUP
    + _BEGIN
    + """
events = []
def look_up():
    socket.getaddrinfo("slow.example.com", 80)
    events.append("looked up")
waiting = eventlet.spawn(look_up)
eventlet.sleep(0.05)
events.append("other")
waiting.wait()
print(events)
"""
)
_ADDRESSES = (
    _BEGIN
    + """
assert socket.getaddrinfo is eventlet.green.socket.getaddrinfo
assert socket.getaddrinfo("127.0.0.1", 80) == native.getaddrinfo("127.0.0.1", 80)
assert socket.getaddrinfo(host="::1", port="80", flags=socket.AI_PASSIVE)
print(tpool._setup_already, socket.gethostbyname("localhost"), tpool._setup_already)
assert socket.getaddrinfo("localhost", 80) == native.getaddrinfo("localhost", 80)
try:
    socket.getaddrinfo("nowhere.invalid", 80)
except socket.gaierror:
    print("no such host")
"""
)
_FORKED = (
    _BEGIN
    + """
socket.getaddrinfo("localhost", 80)
child = os.fork()
found = socket.getaddrinfo("localhost", 80)
if child == 0:
    os._exit(7 if found else 1)
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""
)
_NATIVE_THREAD = (
    _BEGIN
    + """
found = []
socket.getaddrinfo("localhost", 80)
thread = patcher.original("threading").Thread(
    target=lambda: found.append(socket.getaddrinfo("localhost", 80))
)
thread.start()
thread.join()
print(bool(found[0]))
"""
)


@pytest.mark.parametrize(
    ("program", "output"),
    [
        pytest.param(_OTHERS_RUN_MEANWHILE, "['other', 'looked up']", id="greenthreads"),
        pytest.param(_ADDRESSES, "False 127.0.0.1 True\nno such host", id="addresses"),
        pytest.param(_FORKED, "7", id="fork"),
        pytest.param(_NATIVE_THREAD, "True", id="native-thread"),
        pytest.param(_BEGIN + "print('dns' in sys.modules)", "False", id="own-resolver"),
    ],
)
def test_names_are_looked_up_in_native_threads(program: str, output: str) -> None:
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", program],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.stdout.strip() == output, done.stderr
