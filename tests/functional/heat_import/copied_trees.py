"""Copies of the stacks that real Heat has made, for databases of any size.

A copy has new ids and keys everywhere, and the names, properties and physical ids of the original.
"""

from __future__ import annotations

import copy
import uuid
from collections.abc import Collection, Mapping
from typing import Any

from tests.functional.heat_import.heat_source import Rows, heat_rows, rows_of

_KEY_STEP = 10_000
_NAMESPACE = uuid.UUID(int=0)
# Columns that have keys which every copy has of its own; owners and files are shared.
_KEYS = {
    "stack": ("raw_template_id", "prev_raw_template_id"),
    "resource": ("id", "current_template_id", "rsrc_prop_data_id", "attr_data_id"),
    "resource_data": ("id", "resource_id"),
    "resource_properties_data": ("id",),
    "raw_template": ("id",),
    "event": ("id",),
}


def rows_of_copies(name: str, count: int) -> Rows:
    """Return rows with copies of a root stack alone, named ``NAME-0`` and so on."""
    rows = heat_rows()
    ids = _descendants(rows, rows_of(rows, "stack", name=name)[0]["id"])
    original = _rows_of_stacks(rows, ids)
    found: Rows = {table: [] for table in rows}
    for number in range(count):
        copied = _copy(original, number)
        for stack in copied["stack"]:
            stack["name"] = stack["name"].replace(name, f"{name}-{number}", 1)
        _extend(found, copied)
    for table in ("user_creds", "raw_template_files"):
        found[table] = rows[table]
    return found


def rows_of_wide_tree(count: int) -> Rows:
    """Return rows in which ``nested`` has more resources such as ``mid``, each with its stacks.

    Args:
        count: how many of them; each is a tree of eight resources and four stacks.
    """
    rows = heat_rows()
    [root] = rows_of(rows, "stack", name="nested")
    [resource] = rows_of(rows, "resource", stack_id=root["id"], name="mid")
    [template] = rows_of(rows, "raw_template", id=root["raw_template_id"])
    original = _rows_of_stacks(rows, _descendants(rows, resource["nova_instance"]))
    original["resource"].append(resource)
    for number in range(1, count):
        copied = _copy(original, number, shared={root["id"]})
        copied["resource"][-1] |= {
            "name": f"mid-{number}",
            "current_template_id": root["raw_template_id"],
        }
        copied["stack"][0]["parent_resource_name"] = f"mid-{number}"
        resources = template["template"]["resources"]
        resources[f"mid-{number}"] = copy.deepcopy(resources["mid"])
        _extend(rows, copied)
    return rows


def _descendants(rows: Rows, stack_id: str) -> list[str]:
    children = rows_of(rows, "stack", owner_id=stack_id)
    return [stack_id, *(each for child in children for each in _descendants(rows, child["id"]))]


def _rows_of_stacks(rows: Rows, stack_ids: Collection[str]) -> Rows:
    stacks = [rows_of(rows, "stack", id=each)[0] for each in stack_ids]
    resources = [row for row in rows["resource"] if row["stack_id"] in stack_ids]
    keys = {row["id"] for row in resources}
    values = {row.get(name) for row in resources for name in ("rsrc_prop_data_id", "attr_data_id")}
    templates = {row["raw_template_id"] for row in stacks}
    physical = {row["nova_instance"] for row in resources}
    return {
        "stack": stacks,
        "resource": resources,
        "resource_data": [row for row in rows["resource_data"] if row["resource_id"] in keys],
        "resource_properties_data": [
            row for row in rows["resource_properties_data"] if row["id"] in values
        ],
        "raw_template": [row for row in rows["raw_template"] if row["id"] in templates],
        "event": [row for row in rows["event"] if row["stack_id"] in stack_ids],
        "software_config": [row for row in rows["software_config"] if row["id"] in physical],
    }


def _copy(original: Rows, number: int, shared: Collection[str] = ()) -> Rows:
    ids = {row["id"] for table in ("stack", "software_config") for row in original[table]}
    ids |= {row["uuid"] for table in ("resource", "event") for row in original[table]}
    new_ids = {old: str(uuid.uuid5(_NAMESPACE, f"{old} {number}")) for old in ids - set(shared)}
    return {
        table: [_copy_row(row, _KEYS.get(table, ()), number, new_ids) for row in rows]
        for table, rows in original.items()
    }


def _copy_row(
    row: Mapping[str, Any], keys: Collection[str], number: int, new_ids: Mapping[str, str]
) -> dict[str, Any]:
    found = copy.deepcopy(dict(row))
    for column, value in row.items():
        if column in keys and value is not None:
            found[column] = value + (number + 1) * _KEY_STEP
        elif isinstance(value, str):
            found[column] = new_ids.get(value, value)
    return found


def _extend(rows: Rows, more: Rows) -> None:
    for table, added in more.items():
        rows[table].extend(added)
