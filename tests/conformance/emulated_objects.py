"""Objects of the emulated cloud that cases name, and the replacement of their placeholders."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

Json = Any
ObjectFactory = Callable[[], str]

EMULATED_OBJECTS: Mapping[str, str] = {
    "other_project": "5f1c0de0000000000000000000000002",
    "third_project": "5f1c0de0000000000000000000000003",
    "agent": "5f1c0de0-0000-0000-0000-00000000a6e7",
    "uuid": "5f1c0de0-0000-0000-0000-0000000000ff",
    "file": "http://files.invalid/image",
    "second_image": "cirros-2",
    "host": "host-1",
    "cluster_image": "cirros",
    "database_flavor": "db.small",
    "second_database_flavor": "db.large",
    "node": "node-1",
    "second_node": "node-2",
    "portgroup": "bond-1",
    "object_store_host": "cloud.invalid",
    "queues_url": "http://cloud.invalid/messaging/v2/queues",
}


def replace_placeholders(value: Json, placeholders: Mapping[str, str | ObjectFactory]) -> Json:
    """Return a value of a case with all placeholders replaced, at any depth.

    Args:
        value: A value of a case; placeholders are names in braces.
        placeholders: The values by their names, or functions that return them.
    """
    if isinstance(value, str):
        for word, meaning in placeholders.items():
            if "{" + word + "}" in value:
                text = meaning if isinstance(meaning, str) else meaning()
                value = value.replace("{" + word + "}", text)
        return value
    if isinstance(value, Mapping):
        return {key: replace_placeholders(item, placeholders) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [replace_placeholders(item, placeholders) for item in value]
    return value
