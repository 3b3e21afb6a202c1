"""Signals of deployments in the object storage.

Decides the object of a deployed configuration: each one has its own, so that no signal to an
earlier one is taken for it. Called by deployments.

Source: docs/reference/resource-groups.rst, "Software configuration".
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from heat_convergence.common.failures import ResourceGone
from heat_convergence.resources.builtin.signals.signal_objects import SignalObjects
from heat_convergence.resources.builtin.software import deployment_inputs
from heat_convergence.resources.protocol.verb_values import ResourceContext

Json = Any


def create_signal_object(context: ResourceContext, config_id: str) -> str:
    """Create the container, and return the URL to store the signal at."""
    objects = _objects(context, config_id)
    objects.create_container(versioned=False)
    return objects.signed_url()


def read_signal_object(context: ResourceContext, config_id: str) -> Mapping[str, Json] | None:
    """Return the outputs that the server has stored; None while there are none."""
    try:
        texts = _objects(context, config_id).texts()
    except ResourceGone:
        return None
    text = texts[-1].strip() if texts else ""
    if not text:
        return None
    try:
        outputs = json.loads(text)
    except ValueError:
        outputs = None
    if isinstance(outputs, dict):
        return outputs
    return {
        deployment_inputs.STATUS_CODE: 1,
        deployment_inputs.STDERR: "The signal is no JSON object.",
    }


def _objects(context: ResourceContext, config_id: str) -> SignalObjects:
    return SignalObjects(context, f"{context.physical_name}-{config_id}")
