"""The services that engines and observers are made with.

Built by ``cli`` for each worker, and by ``testing`` for the service in one process.
Decides nothing, and must not reach for anything global: many workers live in one process.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from heat_convergence.common.clock import Clock
from heat_convergence.common.error_log import ErrorLog
from heat_convergence.common.ids import IdFactory
from heat_convergence.common.transactions import Wait
from heat_convergence.convergence.drift.announcements import Announce, announce_nothing
from heat_convergence.convergence.ports.bus import Bus
from heat_convergence.convergence.ports.settings import ConvergenceSettings
from heat_convergence.convergence.ports.store import Store
from heat_convergence.resources.nested.template_cache import TemplateCache
from heat_convergence.resources.openstack.shared_lists import ListRound
from heat_convergence.resources.protocol.verb_values import CloudFactory, no_cloud
from heat_convergence.resources.registry import ResourceTypeRegistry
from heat_convergence.template.functions.function import NO_FUNCTIONS, Function
from heat_convergence.template.limits import DEFAULT_LIMITS, TemplateLimits

WatchCloudFactory = Callable[[str, str, ListRound], Any]
"""Ids of a stack tree and a project, and a round's lists → the cloud that the watch reads with."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DaemonServices:
    """The services that every engine and observer needs.

    Attributes:
        store: Rows of the database.
        bus: Messages to engines and observers.
        registry: Resource types.
        clock: Current time.
        ids: Source of new ids.
        settings: Settings of engines and observers.
        wait: Function that sleeps for a number of seconds, between tries of a transaction.
        errors: Log of unexpected errors.
        announce: Function that sends notifications of drift.
    """

    store: Store
    bus: Bus
    registry: ResourceTypeRegistry
    clock: Clock
    ids: IdFactory
    settings: ConvergenceSettings
    wait: Wait
    errors: ErrorLog = field(default_factory=ErrorLog)
    announce: Announce = announce_nothing


@dataclass(frozen=True, slots=True, kw_only=True)
class EvaluationServices:
    """The services that evaluate definitions and that resource types are called with.

    Attributes:
        cloud_of: Function that returns the cloud of a stack tree.
        functions: Template functions of plug-ins, by name.
        limits: Limits on templates and on what their expressions return.
        template_cache: Parsed templates; None for a cache of the daemon's own.
        watch_cloud_of: Function that returns the cloud that the watch reads with; None for the
            stack's own.
    """

    cloud_of: CloudFactory = no_cloud
    functions: Mapping[str, Function] = field(default_factory=lambda: NO_FUNCTIONS)
    limits: TemplateLimits = DEFAULT_LIMITS
    template_cache: TemplateCache | None = None
    watch_cloud_of: WatchCloudFactory | None = None


DEFAULT_EVALUATION = EvaluationServices()
