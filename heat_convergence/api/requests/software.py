"""Bodies of software configurations and deployments.

Called by the controllers that take them.  Raises ``HTTPBadRequest`` and
``StackValidationFailed``; unknown keys are ignored.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from heat_convergence.api.requests.params import parse_boolean
from heat_convergence.common import errors

Json = Any
UNGROUPED = "Heat::Ungrouped"
_TYPES = ("String", "Number", "CommaDelimitedList", "Json", "Boolean")
_INPUT_KEYS = frozenset({"name", "description", "type", "default", "replace_on_change", "value"})
_OUTPUT_KEYS = frozenset({"name", "description", "type", "error_output"})
_FLAGS = ("replace_on_change", "error_output")
_MAX_LENGTHS = {"stack_user_project_id": 64}
_MAX_TEXT = 255
_DEPLOYMENT_TEXTS = ("config_id", "server_id", "action", "status", "stack_user_project_id")
_UPDATABLE = ("config_id", "action", "status", "status_reason", "input_values", "output_values")


@dataclass(frozen=True, slots=True)
class ConfigBody:
    """The body of a configuration; ``content`` has config, inputs, outputs and options."""

    name: str
    tool: str
    content: Mapping[str, Json] = field(repr=False)


def parse_config_body(body: Mapping[str, Json]) -> ConfigBody:
    """Return the parsed body of a configuration."""
    config = body.get("config")
    content = {
        "config": "" if config is None else config,
        "inputs": _ports(body, "inputs", _INPUT_KEYS),
        "outputs": _ports(body, "outputs", _OUTPUT_KEYS),
        "options": _map(body, "options") or {},
    }
    return ConfigBody(_text(body, "name") or "", _text(body, "group") or UNGROUPED, content)


def parse_deployment_body(body: Mapping[str, Json]) -> dict[str, Json]:
    """Return the columns of a new deployment."""
    texts = {name: _text(body, name) for name in _DEPLOYMENT_TEXTS}
    for name in ("config_id", "server_id"):
        if not texts[name]:
            raise errors.HTTPBadRequest(f'"{name}" is missing.')
    return {
        **texts,
        "action": texts["action"] or "INIT",
        "status": texts["status"] or "COMPLETE",
        "status_reason": _reason(body) or "",
        "input_values": _map(body, "input_values") or {},
    }


def parse_deployment_update(body: Mapping[str, Json]) -> dict[str, Json]:
    """Return the columns that an update sets; null and unknown keys change nothing."""
    found: dict[str, Json] = {}
    for name in _UPDATABLE:
        if body.get(name) is None:
            continue
        if name == "status_reason":
            found[name] = _reason(body)
        elif name.endswith("_values"):
            found[name] = _map(body, name)
        else:
            found[name] = _text(body, name)
    return found


def _ports(body: Mapping[str, Json], key: str, known: frozenset[str]) -> list[dict[str, Json]]:
    """Return the declared inputs or outputs, with the defaults of their fields."""
    listed = body.get(key)
    if listed is None:
        return []
    if not isinstance(listed, list):
        raise errors.HTTPBadRequest(f'"{key}" must be a list of maps.')
    return [_port(port, known, f"{key}[{at}]") for at, port in enumerate(listed)]


def _port(port: Json, known: frozenset[str], path: str) -> dict[str, Json]:
    if not isinstance(port, dict):
        raise errors.StackValidationFailed("a map is needed.", path=path)
    unknown = sorted(str(key) for key in port.keys() - known)
    if unknown:
        raise errors.StackValidationFailed(f'Unknown key "{unknown[0]}".', path=path)
    if not isinstance(port.get("name"), str) or not port["name"]:
        raise errors.StackValidationFailed("it needs a name.", path=path)
    port_type = port.get("type", "String")
    if port_type not in _TYPES:
        raise errors.StackValidationFailed(
            f'"{port_type}" is not a type: {", ".join(_TYPES)}.', path=f"{path}.type"
        )
    flags = {
        name: port.get(name) is not None and parse_boolean(name, port[name])
        for name in _FLAGS
        if name in known
    }
    assigned = {name: value for name, value in port.items() if value is not None}
    return {**assigned, "type": port_type, **flags}


def _text(body: Mapping[str, Json], key: str) -> str | None:
    value = body.get(key)
    if value is None:
        return None
    if not isinstance(value, str):
        raise errors.HTTPBadRequest(f'"{key}" must be a string.')
    max_length = _MAX_LENGTHS.get(key, _MAX_TEXT)
    if len(value) > max_length:
        raise errors.Invalid(f'"{key}" has at most {max_length} characters, not {len(value)}.')
    return value


def _reason(body: Mapping[str, Json]) -> str | None:
    value = body.get("status_reason")
    if value is not None and not isinstance(value, str):
        raise errors.HTTPBadRequest('"status_reason" must be a string.')
    return value


def _map(body: Mapping[str, Json], key: str) -> Mapping[str, Json] | None:
    value = body.get(key)
    if value is not None and not isinstance(value, dict):
        raise errors.HTTPBadRequest(f'"{key}" must be a map.')
    return value
