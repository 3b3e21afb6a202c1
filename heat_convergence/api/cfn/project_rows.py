"""Reads of one project that the Orchestration API has no request for.

Called by actions after their policy has been checked. Decides nothing; reads nothing of another
project than that of the caller.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from heat_convergence.api.cfn.cfn_errors import CfnError
from heat_convergence.api.views import events as view
from heat_convergence.common import errors
from heat_convergence.convergence.model.stack import Stack
from heat_convergence.db.connection.database import Database
from heat_convergence.db.reads import events, resources, stacks
from heat_convergence.db.reads.events import EventQuery
from heat_convergence.db.reads.stacks import StackFilter

Json = Any
MAX_EVENTS = 10_000  # of a project, the newest ones
MAX_PROPERTY_CHARACTERS = 4_000_000  # in the events of a response


@dataclass(frozen=True, slots=True)
class ProjectRows:
    """Reads of stacks, resources and events by project."""

    database: Database
    hidden_tags: tuple[str, ...] = ()

    def find_owner(self, project_id: str, physical_id: str) -> Stack:
        """Return the stack with the resource of a physical id.

        Raises:
            EntityNotFound: There is none.
            CfnError: There are several.
        """
        with self.database.read() as conn:
            rows = resources.list_by_physical_id(conn, project_id, physical_id)
            ids = sorted({row.stack_id for row in rows})
            if len(ids) > 1:
                message = (
                    f"Multiple resources were found with the physical ID ({physical_id[:80]})."
                )
                raise CfnError("InvalidParameterValue", message)
            found = stacks.get(conn, ids[0]) if ids else None
        if found is None:
            raise errors.EntityNotFound("Resource", physical_id[:80])
        return found

    def list_events(
        self, project_id: str, base_url: str
    ) -> list[tuple[Stack, Mapping[str, Json]]]:
        """Return the newest events of the project's live root stacks, each with its stack."""
        shown = StackFilter(project_id, not_tags_any=self.hidden_tags)
        with self.database.read() as conn:
            known = {each.id: each for each in stacks.list_page(conn, shown)}
            found = events.list_page(conn, known.keys(), EventQuery(limit=MAX_EVENTS))
        return [
            (known[each.stack_id], view.format_event(each, known[each.stack_id], base_url))
            for each in found
        ]

    def read_event_properties(
        self, requested: Sequence[tuple[str, str, str]]
    ) -> Mapping[str, str]:
        """Return the properties of events as JSON texts, by the ids of the events.

        Those of the newest events, until the texts are ``MAX_PROPERTY_CHARACTERS`` long.

        Args:
            requested: stack id, name of the resource, and id of each event.
        """
        missing: dict[tuple[str, str], list[str]] = {}
        for stack_id, name, event_id in requested:
            missing.setdefault((stack_id, name), []).append(event_id)
        found: dict[str, str] = {}
        room = MAX_PROPERTY_CHARACTERS
        with self.database.read() as conn:
            for start in events.iterate_starts(conn, {stack_id for stack_id, _name in missing}):
                ids = missing.pop((start.stack_id, start.resource_name), [])
                later = [each for each in ids if each >= start.event_id]
                text = json.dumps(view.format_properties(start.properties, start.sensitive))
                room -= len(text) * len(later)
                if room < 0:
                    break
                found.update(dict.fromkeys(later, text))
                earlier = [each for each in ids if each < start.event_id]
                if earlier:
                    missing[start.stack_id, start.resource_name] = earlier
                if not missing:
                    break
        return found
