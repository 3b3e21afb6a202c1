"""Many things by few calls.

Decides which list is asked for.  Called by ``declared.observe_many`` with views of one
project; gives bodies by id, without those that the list lacks.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from datetime import timedelta
from typing import Any

from heat_convergence.convergence.model import Action
from heat_convergence.resources.driver.calls import Calls
from heat_convergence.resources.driver.things import Many
from heat_convergence.resources.plugin import View

Json = Any
SKEW = timedelta(seconds=60)  # by which the service's clock may differ from ours


def bodies_of(
    calls: Calls, views: Sequence[View], id_of: Callable[[View], str]
) -> Mapping[str, Mapping[str, Json]]:
    ids = sorted({id_of(view) for view in views})
    if calls.thing.many is Many.IDS:
        return calls.by_ids(ids)
    if calls.thing.many is Many.CHANGED:
        return _changed(calls, views, id_of)
    return _listed(calls, set(ids))


def _changed(
    calls: Calls, views: Sequence[View], id_of: Callable[[View], str]
) -> Mapping[str, Mapping[str, Json]]:
    """What no host has taken up yet has not changed, as Nova sees it: several of those
    take the whole list."""
    since = min(view.started_at for view in views) - SKEW
    ids = {id_of(view) for view in views}
    query = {"changes-since": since.strftime("%Y-%m-%dT%H:%M:%SZ")}
    found = _listed(calls, ids, **query)
    coming = {id_of(view) for view in views if view.action is not Action.DELETE}
    lacking = coming - found.keys()
    return {**_listed(calls, lacking), **found} if len(lacking) > 1 else found


def _listed(calls: Calls, wanted: Collection[str], **query: Json) -> dict[str, Json]:
    listed = {str(body[calls.thing.id_key]): body for body in calls.list(**query)}
    return {key: body for key, body in listed.items() if key in wanted}
