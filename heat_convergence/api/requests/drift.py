"""The bodies of requests about drift.

Called by the controllers that take them.  Raises ``HTTPBadRequest``.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from heat_convergence.common import errors
from heat_convergence.convergence.drift.observation import ControlValues
from heat_convergence.template.environment.drift_policies import parse_policy
from heat_convergence.template.environment.repair_window import REPAIR_WINDOW, parse_window

Json = Any
_KEYS = ("policy", "paused", REPAIR_WINDOW)
_MAX_CONFIRMED = 1_000


def parse_control(body: Mapping[str, Json]) -> ControlValues:
    """Return what a body sets for the drift of a stack.

    Raises:
        HTTPBadRequest: the body has an unknown key or value, or sets nothing.
    """
    unknown = sorted(body.keys() - set(_KEYS))
    if unknown:
        raise errors.HTTPBadRequest(f'The drift policy has an unknown key: "{unknown[0]}".')
    if not body:
        raise errors.HTTPBadRequest(f"The body must have one of {', '.join(_KEYS)}.")
    values: ControlValues = {}
    if "policy" in body:
        word = body["policy"]
        values["policy"] = None if word is None else parse_policy(word, "policy")
    if "paused" in body:
        if not isinstance(body["paused"], bool):
            raise errors.HTTPBadRequest('"paused" must be true or false.')
        values["paused"] = body["paused"]
    if REPAIR_WINDOW in body:
        window = body[REPAIR_WINDOW]
        values["repair_window"] = None if window is None else parse_window(window, REPAIR_WINDOW)
    return values


def parse_confirmation(body: Mapping[str, Json]) -> frozenset[str]:
    """Return the ids of the breakers whose loss a user confirms.

    Raises:
        HTTPBadRequest: the body has another form.
        RequestLimitExceeded: there are too many ids.
    """
    ids = body.get("confirmed")
    if set(body) != {"confirmed"} or not isinstance(ids, list):
        raise errors.HTTPBadRequest('The body must have "confirmed", a list of ids of breakers.')
    if not all(isinstance(each, str) for each in ids):
        raise errors.HTTPBadRequest('"confirmed" must be a list of ids of breakers.')
    if len(ids) > _MAX_CONFIRMED:
        raise errors.RequestLimitExceeded(
            f'"confirmed" has {len(ids)} ids; at most {_MAX_CONFIRMED} are allowed.'
        )
    return frozenset(ids)
