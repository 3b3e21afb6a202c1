"""Schemas of single fields, of which those of requests and responses are made.

Used by ``openapi_schemas`` and the modules beside it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

Schema = Mapping[str, Any]

TEXT: Schema = {"type": "string"}
ANY: Schema = {}
MAP: Schema = {"type": "object"}
MAYBE: Schema = {"type": ["string", "null"]}
COUNT: Schema = {"type": "integer", "minimum": 0}
MAYBE_COUNT: Schema = {"type": ["integer", "null"]}
FLAG: Schema = {"type": "string", "pattern": "^([Tt][Rr][Uu][Ee]|[Ff][Aa][Ll][Ss][Ee])$"}
JSON_FLAG: Schema = {"type": ["boolean", "string", "null"]}


def list_of(item: Schema) -> Schema:
    """Return the schema of a list."""
    return {"type": "array", "items": item}


def object_with(optional: Mapping[str, Schema] | None = None, /, **fields: Schema) -> Schema:
    """Return the schema of an object: ``fields`` are required, ``optional`` are not."""
    return {
        "type": "object",
        "properties": {**fields, **(optional or {})},
        "required": sorted(fields),
    }


def texts(*names: str) -> dict[str, Schema]:
    """Return fields that are texts."""
    return dict.fromkeys(names, TEXT)
