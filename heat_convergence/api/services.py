"""All that the application needs, given to it once, by whoever builds it.

Called by ``cli`` and by tests; decides nothing.  Must not reach for anything
global: two applications with different services live in one process.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from heat_convergence.api.context import StackUserDomain
from heat_convergence.clients.delegation import Delegation
from heat_convergence.clients.signed_urls import Signer
from heat_convergence.common.clock import Clock
from heat_convergence.common.ids import IdFactory
from heat_convergence.common.transactions import Wait
from heat_convergence.convergence.ports.bus import Bus
from heat_convergence.convergence.ports.settings import ConvergenceSettings
from heat_convergence.convergence.ports.store import Store
from heat_convergence.db.connection.database import Database
from heat_convergence.resources.nested.template_cache import TemplateCache
from heat_convergence.resources.registry import ResourceTypeRegistry
from heat_convergence.stacks.goal.nested_builder import NestedStackBuilder
from heat_convergence.template.environment.environment import Environment
from heat_convergence.template.functions.function import NO_FUNCTIONS, Function
from heat_convergence.template.limits import TemplateLimits
from heat_convergence.template.parameters.constraints import CustomConstraintFunction

SignerLookup = Callable[[Mapping[str, Any]], Signer]


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
    """``temporary_database`` for reads, ``store`` for writes, ``bus`` for jobs after a commit."""

    database: Database
    store: Store
    bus: Bus
    registry: ResourceTypeRegistry
    clock: Clock
    ids: IdFactory
    settings: ConvergenceSettings = field(default_factory=ConvergenceSettings)
    limits: TemplateLimits = field(default_factory=TemplateLimits)
    template_cache: TemplateCache = field(default_factory=TemplateCache)
    options: ApiOptions = field(default_factory=ApiOptions)
    custom_constraints: Mapping[str, CustomConstraintFunction] = field(default_factory=dict)
    functions: Mapping[str, Function] = field(default_factory=lambda: NO_FUNCTIONS)  # plug-ins'
    global_environment: Environment | None = None  # the operator's, beneath every user's
    delegation: Delegation | None = None  # None: there is no Keystone
    stack_user_domain: StackUserDomain = field(default_factory=StackUserDomain)
    find_signer: SignerLookup | None = None  # None: signed URLs are not answered
    wait: Wait = time.sleep  # how a request pauses before it asks the database again

    def nested_stack_builder(self) -> NestedStackBuilder:
        """What drafts the stacks behind resources, for signals here and for engines."""
        return NestedStackBuilder(
            registry=self.registry,
            clock=self.clock,
            limits=self.limits,
            global_environment=self.global_environment,
            region=self.options.region,
            custom_constraints=self.custom_constraints,
            functions=self.functions,
            template_cache=self.template_cache,
            timeout_s=self.settings.action_timeout_s,
        )
