"""Many things by few calls.

Decides which list is asked for.  Called by ``declared.observe_many`` with views of one
project; gives bodies by id, without those that the list lacks.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import timedelta
from typing import Any

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
    query = {}
    if calls.thing.many is Many.CHANGED:
        since = min(view.started_at for view in views) - SKEW
        query = {"changes-since": since.strftime("%Y-%m-%dT%H:%M:%SZ")}
    wanted = set(ids)
    listed = {str(body[calls.thing.id_key]): body for body in calls.list(**query)}
    return {key: body for key, body in listed.items() if key in wanted}
