"""Reads of many objects by few calls.

Decides which list is requested. Called by ``declarative`` with contexts of one project. It must
not decide states: it returns bodies.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from datetime import timedelta
from typing import Any

from heat_convergence.convergence.model.action import Action
from heat_convergence.resources.driver.resource_client import RestResourceClient
from heat_convergence.resources.driver.rest_resources import BulkRead
from heat_convergence.resources.protocol.verb_values import ResourceContext

Json = Any
CLOCK_SKEW = timedelta(seconds=60)  # by which the service's clock may differ from ours
# Nova does not count a server as changed until a host is chosen: one that such a list lacks is
# taken for busy as long, and read singly or by a whole list only afterwards.
UNCHANGED_SINCE_CREATE = timedelta(seconds=30)


def read_bodies(
    calls: RestResourceClient,
    contexts: Sequence[ResourceContext],
    id_of: Callable[[ResourceContext], str],
) -> Mapping[str, Mapping[str, Json]]:
    """Return id → body of the contexts' objects, without those that the list lacks."""
    ids = sorted({id_of(context) for context in contexts})
    if calls.rest_resource.bulk_read is BulkRead.BY_IDS:
        return calls.list_by_ids(ids)
    if calls.rest_resource.bulk_read is BulkRead.CHANGED_SINCE:
        return _changed(calls, contexts, id_of)
    return _listed(calls, set(ids))


def _changed(
    calls: RestResourceClient,
    contexts: Sequence[ResourceContext],
    id_of: Callable[[ResourceContext], str],
) -> Mapping[str, Mapping[str, Json]]:
    """Return the bodies that have changed since the oldest action started.

    With several missing that must have changed by now, the whole list is read.
    """
    since = min(context.started_at for context in contexts) - CLOCK_SKEW
    ids = {id_of(context) for context in contexts}
    query = {"changes-since": since.strftime("%Y-%m-%dT%H:%M:%SZ")}
    found = _listed(calls, ids, **query)
    expected = {
        id_of(context)
        for context in contexts
        if context.action is not Action.DELETE and not may_be_unchanged(calls, context)
    }
    missing = expected - found.keys()
    return {**_listed(calls, missing), **found} if len(missing) > 1 else found


def may_be_unchanged(calls: RestResourceClient, context: ResourceContext) -> bool:
    """Return whether an object is so new that a list of changes need not have it yet."""
    return (
        calls.rest_resource.bulk_read is BulkRead.CHANGED_SINCE
        and context.action is Action.CREATE
        and context.now - context.started_at < UNCHANGED_SINCE_CREATE
    )


def _listed(calls: RestResourceClient, ids: Collection[str], **query: Json) -> dict[str, Json]:
    listed = {str(body[calls.rest_resource.id_key]): body for body in calls.list(**query)}
    return {key: body for key, body in listed.items() if key in ids}
