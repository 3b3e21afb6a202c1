"""All options by group, for the daemons and for oslo-config-generator.

Decides which modules of this package are registered; reads no value.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence

from oslo_config import cfg

from heat_convergence.conf import (
    api,
    clients,
    console,
    drift,
    engine,
    housekeeping,
    limits,
    metrics,
    notification_listener,
    observer,
    quarantine,
    rpc,
    service,
    tracing,
)

_GROUPS: tuple[tuple[str | None, Sequence[cfg.Opt]], ...] = (
    (service.GROUP, service.OPTS),
    (limits.GROUP, limits.OPTS),
    (engine.GROUP, engine.OPTS),
    (engine.ENGINE_GROUP, engine.ENGINE_OPTS),
    (observer.GROUP, observer.OPTS),
    (drift.GROUP, drift.OPTS),
    (quarantine.GROUP, quarantine.OPTS),
    (notification_listener.GROUP, notification_listener.OPTS),
    (api.GROUP, api.OPTS),
    (api.CFN_GROUP, api.CFN_OPTS),
    (console.GROUP, console.OPTS),
    (rpc.GROUP, rpc.OPTS),
    (metrics.GROUP, metrics.OPTS),
    (tracing.GROUP, tracing.OPTS),
    (housekeeping.GROUP, housekeeping.OPTS),
    (limits.REVISION_GROUP, limits.REVISION_OPTS),
    (limits.YAQL_GROUP, limits.YAQL_OPTS),
    (clients.GROUP, clients.OPTS),
    (clients.VOLUMES_GROUP, clients.VOLUMES_OPTS),
    (clients.CLIENTS_GROUP, clients.CLIENTS_OPTS),
    (clients.TRUSTEE_GROUP, clients.auth_opts()),
    (clients.DRIFT_AUTH_GROUP, clients.auth_opts()),
    *((group, clients.service_opts(group)) for group in clients.SDK_SERVICE_NAMES),
)


def register_all_opts(conf: cfg.ConfigOpts) -> None:
    """Register every option with ``conf``. Repeated calls are harmless."""
    for group, opts in _GROUPS:
        conf.register_opts(opts, group=group)


def list_opts() -> list[tuple[str | None, list[cfg.Opt]]]:
    """Return the options by group for oslo-config-generator.

    Returns:
        Pairs of group and options; the group None is ``DEFAULT``.
    """
    by_group: dict[str | None, list[cfg.Opt]] = {}
    for group, options in _GROUPS:
        by_group.setdefault(group, []).extend(copy.deepcopy(options))
    return list(by_group.items())
