"""Things that services keep: where they are found and how they are named.

Decides nothing; rows of ``catalog.things`` are made of this.  A resource type makes
one kind of thing, its properties name others, constraints look them up.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Any

OWNER_METADATA_KEY = "heat_resource_id"  # in metadata, where that carries the mark


class BulkRead(StrEnum):
    """How a service is asked for many things at once."""

    BY_IDS = "ids"  # a list filtered by ids
    CHANGED_SINCE = "changed"  # a list of what has changed since a time
    ALL = "all"  # the project's whole list


class OwnershipMarkField(StrEnum):
    """Where a thing that has another's name, or none, carries its resource's id.
    ``CONSOLE_URLS``: it has no other field for it, but its name can be changed later."""

    NONE = "none"
    NAME = "name"
    DESCRIPTION = "description"
    METADATA = "metadata"


@dataclass(frozen=True, slots=True, kw_only=True)
class RestResource:
    """``noun`` is what constraints and messages call it; ``resource`` is openstacksdk's
    class, which knows path, body keys and the method of updates; ``path`` and
    ``listing`` stand where the class's own will not do.  ``name_query`` is the query
    that the service filters names by, None when it can't.  ``ids_are_uuids``: ids are UUIDs
    always, so that a UUID needs no looking up.  ``list_query`` goes with every list.
    """

    entity: str
    service: str
    sdk_class: type[Any]
    entity_label: str = ""
    name_key: str | None = "name"
    name_query: str | None = "name"
    id_key: str = "id"
    path: str | None = None
    list_path: str | None = None
    bulk_read: BulkRead = BulkRead.ALL
    ownership_mark_field: OwnershipMarkField = OwnershipMarkField.NONE
    mark_filterable: bool = False
    microversion: str | None = None
    ids_are_uuids: bool = True
    list_query: tuple[tuple[str, str], ...] = ()

    @property
    def path_template(self) -> str:
        """Its path, perhaps with places such as ``%(pool_id)s``."""
        return self.path or str(self.sdk_class.base_path)

    @property
    def list_path_template(self) -> str:
        return self.list_path or self.path_template

    @property
    def item_key(self) -> str | None:
        """The key of one in a body; None: the body itself."""
        found = self.sdk_class.resource_key
        return None if found is None else str(found)

    @property
    def list_key(self) -> str | None:
        found = self.sdk_class.resources_key
        return None if found is None else str(found)

    @property
    def update_method(self) -> str:
        return str(self.sdk_class.commit_method or "PUT")

    @property
    def label(self) -> str:
        return self.entity_label or self.entity.rpartition(".")[2]
