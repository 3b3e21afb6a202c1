"""All that the application needs, given to it once, by whoever builds it.

Called by ``cli`` and by tests; decides nothing.  Must not reach for anything
global: two applications with different services live in one process.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from heat_convergence.api.context import UsersDomain
from heat_convergence.clients.delegation import Delegation
from heat_convergence.clients.signed_urls import Signer
from heat_convergence.common.clock import Clock
from heat_convergence.common.ids import IdFactory
from heat_convergence.common.retrying import Wait
from heat_convergence.convergence.ports import Bus, Settings, Store
from heat_convergence.db.engine import Database
from heat_convergence.resources.nesting.child import Children
from heat_convergence.resources.nesting.parsed import Parsed
from heat_convergence.resources.registry import Registry
from heat_convergence.template.constraints import CustomCheck
from heat_convergence.template.environment import Environment
from heat_convergence.template.functions.base import NO_FUNCTIONS, Function
from heat_convergence.template.limits import Limits

SignerOf = Callable[[Mapping[str, Any]], Signer]


@dataclass(frozen=True, slots=True)
class ApiOptions:
    """Numbers and words that an operator may set; defaults are the service's."""

    max_json_body_bytes: int = 1_048_576
    max_stacks_per_tenant: int = 512  # negative: no limit
    max_resources_per_stack: int = 1000  # -1: no limit
    max_nested_stack_depth: int = 5
    max_snapshots_per_stack: int = 32  # negative: no limit
    max_software_configs_per_tenant: int = 4096  # negative: no limit
    max_software_deployments_per_tenant: int = 4096  # negative: no limit
    enable_stack_adopt: bool = False
    enable_stack_abandon: bool = False
    observe_on_update: bool = False  # as if every update said converge
    hidden_stack_tags: tuple[str, ...] = ()
    revision: str = "unknown"
    region: str | None = None
    template_fetch_timeout_s: float = 60.0
    fetch_private_addresses: bool = False  # whether template_url may name this network
    transaction_tries: int = 3  # of what the database refused or could not be asked


@dataclass(frozen=True, slots=True)
class ApiServices:
    """``database`` for reads, ``store`` for writes, ``bus`` for jobs after a commit."""

    database: Database
    store: Store
    bus: Bus
    registry: Registry
    clock: Clock
    ids: IdFactory
    settings: Settings = field(default_factory=Settings)
    limits: Limits = field(default_factory=Limits)
    parsed: Parsed = field(default_factory=Parsed)
    options: ApiOptions = field(default_factory=ApiOptions)
    custom_constraints: Mapping[str, CustomCheck] = field(default_factory=dict)
    functions: Mapping[str, Function] = field(default_factory=lambda: NO_FUNCTIONS)  # plug-ins'
    environment: Environment | None = None  # the operator's, beneath every user's
    delegation: Delegation | None = None  # None: there is no Keystone
    users_domain: UsersDomain = field(default_factory=UsersDomain)
    signer_of: SignerOf | None = None  # None: signed URLs are not answered
    wait: Wait = time.sleep  # how a request pauses before it asks the database again

    def children(self) -> Children:
        """What drafts the stacks behind resources, for signals here and for engines."""
        return Children(
            registry=self.registry,
            clock=self.clock,
            limits=self.limits,
            base=self.environment,
            region=self.options.region,
            custom=self.custom_constraints,
            functions=self.functions,
            parsed=self.parsed,
            timeout_s=self.settings.action_timeout_s,
        )
