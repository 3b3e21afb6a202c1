"""Many things by few calls.

Decides which list is asked for.  Called by ``declared.observe_many`` with views of one
project; gives bodies by id, without those that the list lacks.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from datetime import timedelta
from typing import Any

from heat_convergence.convergence.model.action import Action
from heat_convergence.resources.driver.resource_client import RestResourceClient
from heat_convergence.resources.driver.rest_resources import BulkRead
from heat_convergence.resources.protocol.resource_type import ResourceContext

Json = Any
CLOCK_SKEW = timedelta(seconds=60)  # by which the service's clock may differ from ours


def read_bodies(
    calls: RestResourceClient,
    views: Sequence[ResourceContext],
    id_of: Callable[[ResourceContext], str],
) -> Mapping[str, Mapping[str, Json]]:
    ids = sorted({id_of(view) for view in views})
    if calls.rest_resource.bulk_read is BulkRead.BY_IDS:
        return calls.list_by_ids(ids)
    if calls.rest_resource.bulk_read is BulkRead.CHANGED_SINCE:
        return _changed(calls, views, id_of)
    return _listed(calls, set(ids))


def _changed(
    calls: RestResourceClient,
    views: Sequence[ResourceContext],
    id_of: Callable[[ResourceContext], str],
) -> Mapping[str, Mapping[str, Json]]:
    """What no host has taken up yet has not changed, as Nova sees it: several of those
    take the whole list."""
    since = min(view.started_at for view in views) - CLOCK_SKEW
    ids = {id_of(view) for view in views}
    query = {"changes-since": since.strftime("%Y-%m-%dT%H:%M:%SZ")}
    found = _listed(calls, ids, **query)
    coming = {id_of(view) for view in views if view.action is not Action.DELETE}
    lacking = coming - found.keys()
    return {**_listed(calls, lacking), **found} if len(lacking) > 1 else found


def _listed(calls: RestResourceClient, wanted: Collection[str], **query: Json) -> dict[str, Json]:
    listed = {str(body[calls.rest_resource.id_key]): body for body in calls.list(**query)}
    return {key: body for key, body in listed.items() if key in wanted}
