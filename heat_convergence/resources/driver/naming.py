"""By what a thing is found again whose creation was never answered (RULE 4).

Decides what of a thing bears its resource: its physical name, or a mark in another field.
Where the template has a word for every such field, the thing is made with the mark, and
gets the author's word by the first look at it, which comes once its id is on record.
Called by ``declared``.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from heat_convergence.resources.driver.row import Row
from heat_convergence.resources.driver.things import MARK_KEY, Mark
from heat_convergence.resources.plugin import View

Json = Any
DESCRIPTION = "description"
METADATA = "metadata"
MORE = "value_specs"  # a map of further arguments, as the service calls them


_MARK = "heat-convergence "


def mark_of(view: View) -> str:
    """By what a thing is found again that has not the physical name."""
    return f"{_MARK}{view.resource_id}"


def is_marked(body: Mapping[str, Json]) -> bool:
    """Whether some resource's mark is on it."""
    return str(body.get(DESCRIPTION) or "").startswith(_MARK)


def marked(row: Row, view: View, arguments: dict[str, Json]) -> dict[str, Json]:
    """The arguments of a create that can be found again, if any can."""
    key = _name_key(row)
    if key is not None and not arguments.get(key):
        return {**arguments, key: view.physical_name}
    if row.thing.mark is Mark.METADATA:
        kept = {**(arguments.get(METADATA) or {}), MARK_KEY: view.resource_id}
        return {**arguments, METADATA: kept}
    if row.thing.mark is Mark.NAME and key is not None:
        return {**arguments, key: view.physical_name}
    if row.thing.mark is Mark.DESCRIPTION and (
        not arguments.get(DESCRIPTION) or not row.stays_as_made
    ):
        return {**arguments, DESCRIPTION: mark_of(view)}
    return arguments


def owed(row: Row, view: View, body: Mapping[str, Json]) -> dict[str, Json]:
    """The author's word where the body still has the mark."""
    if row.thing.mark is Mark.DESCRIPTION:
        word = _given(view, DESCRIPTION)
        return {DESCRIPTION: word} if word and body.get(DESCRIPTION) == mark_of(view) else {}
    key = _name_key(row)
    if row.thing.mark is Mark.NAME and key is not None:
        word = _given(view, key)
        return {key: word} if word and body.get(key) == view.physical_name != word else {}
    return {}


def bears(view: View, body: Mapping[str, Json]) -> bool:
    """Whether the mark is on it."""
    in_metadata = (body.get(METADATA) or {}).get(MARK_KEY) == view.resource_id
    return in_metadata or body.get(DESCRIPTION) == mark_of(view)


def was_marked(row: Row, view: View) -> bool:
    """Whether a create of these properties leaves something to be found by."""
    free = _name_key(row) is not None and not _given(view, str(_name_key(row)))
    if free or row.thing.mark in (Mark.METADATA, Mark.NAME):
        return True
    spare = not row.stays_as_made or not _given(view, DESCRIPTION)
    return row.thing.mark is Mark.DESCRIPTION and spare


def _name_key(row: Row) -> str | None:
    return row.thing.name_key if row.named else None


def _given(view: View, name: str) -> Json:
    return view.properties.get(name) or (view.properties.get(MORE) or {}).get(name)
