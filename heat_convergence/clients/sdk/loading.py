"""openstacksdk, which a process loads when it first calls a service.

It has the clients of all services and loads them together, which takes 13 MB and half a second.
Decides when that happens: every other module gets the library's objects here. Must not be called
while a daemon starts.
"""

from __future__ import annotations

from functools import cache
from pkgutil import resolve_name
from typing import Any


@cache
def load(name: str) -> Any:
    """Return an object of openstacksdk by its name, such as ``compute.v2.server.Server``."""
    # Nothing in it gives way to another greenthread, which would see modules half loaded.
    return resolve_name(f"openstack.{name}")


def with_sdk_errors(
    classes: tuple[type[Exception], ...], *names: str
) -> tuple[type[Exception], ...]:
    """Return classes of errors, and those of openstacksdk that have these names."""
    return (*classes, *(load(f"exceptions.{name}") for name in names))
