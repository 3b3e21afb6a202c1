"""Updates by JSON patches, as Magnum's and Ironic's APIs have them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from heat_convergence.testing.openstack.emulation import EmulatedError

Json = Any


def apply_patch(body: dict[str, Json], patch: Iterable[Mapping[str, Json]]) -> None:
    """Apply the operations of a patch to an object's own fields.

    Raises:
        EmulatedError: A field to remove has no value, or a field is set to none (400).
    """
    for change in patch:
        name = str(change["path"]).removeprefix("/")
        if change["op"] == "remove":
            if body.get(name) is None:
                raise EmulatedError(400, f"can't remove non-existent object '{name}'")
            body[name] = None
        elif change["value"] in (None, ""):
            raise EmulatedError(400, f"Invalid value for '{name}'")
        else:
            body[name] = change["value"]
