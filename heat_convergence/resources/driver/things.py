"""Things that services keep: where they are found and how they are named.

Decides nothing; rows of ``catalog.things`` are made of this.  A resource type makes
one kind of thing, its properties name others, constraints look them up.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Any

MARK_KEY = "heat_resource_id"  # in metadata, where that carries the mark


class Many(StrEnum):
    """How a service is asked for many things at once."""

    IDS = "ids"  # a list filtered by ids
    CHANGED = "changed"  # a list of what has changed since a time
    ALL = "all"  # the project's whole list


class Mark(StrEnum):
    """Where a thing that has another's name, or none, carries its resource's id.
    ``NAME``: it has no other field for it, but its name can be changed later."""

    NONE = "none"
    NAME = "name"
    DESCRIPTION = "description"
    METADATA = "metadata"


@dataclass(frozen=True, slots=True, kw_only=True)
class Thing:
    """``noun`` is what constraints and messages call it; ``resource`` is openstacksdk's
    class, which knows path, body keys and the method of updates; ``path`` and
    ``listing`` stand where the class's own will not do.  ``name_query`` is the query
    that the service filters names by, None when it can't.  ``uuids``: ids are UUIDs
    always, so that a UUID needs no looking up.  ``always_asked`` goes with every list.
    """

    noun: str
    service: str
    resource: type[Any]
    word: str = ""
    name_key: str | None = "name"
    name_query: str | None = "name"
    id_key: str = "id"
    path: str | None = None
    listing: str | None = None
    many: Many = Many.ALL
    mark: Mark = Mark.NONE
    marks_found_by_query: bool = False
    microversion: str | None = None
    uuids: bool = True
    always_asked: tuple[tuple[str, str], ...] = ()

    @property
    def base(self) -> str:
        """Its path, perhaps with places such as ``%(pool_id)s``."""
        return self.path or str(self.resource.base_path)

    @property
    def list_base(self) -> str:
        return self.listing or self.base

    @property
    def one(self) -> str | None:
        """The key of one in a body; None: the body itself."""
        found = self.resource.resource_key
        return None if found is None else str(found)

    @property
    def several(self) -> str | None:
        found = self.resource.resources_key
        return None if found is None else str(found)

    @property
    def update_method(self) -> str:
        return str(self.resource.commit_method or "PUT")

    @property
    def noun_text(self) -> str:
        return self.word or self.noun.rpartition(".")[2]
