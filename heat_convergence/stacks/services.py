"""The services and options that a template needs on its way to a stored goal.

Built by ``cli`` for engines and observers, and by the API as part of its own services.
Decides nothing, and must not reach for anything global: two sets of services live in
one process.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from heat_convergence.common.clock import Clock
from heat_convergence.common.error_log import ErrorLog
from heat_convergence.convergence.ports.settings import ConvergenceSettings
from heat_convergence.resources.nested.template_cache import TemplateCache
from heat_convergence.resources.registry import ResourceTypeRegistry
from heat_convergence.stacks.event_sinks.lifecycle_plugins import (
    LifecyclePlugins,
    load_lifecycle_plugins,
)
from heat_convergence.template.environment.environment import Environment
from heat_convergence.template.functions.function import NO_FUNCTIONS, Function
from heat_convergence.template.limits import TemplateLimits
from heat_convergence.template.parameters.constraints import CustomConstraintFunction


@dataclass(frozen=True, slots=True)
class StackOptions:
    """The operator's options that bound stacks and their sources.

    Attributes:
        max_json_body_bytes: size of a request, and of all files that it refers to.
        max_stacks_per_tenant: negative for no limit.
        max_resources_per_stack: of a whole tree; -1 for no limit.
        max_nested_stack_depth: negative for no limit.
        max_snapshots_per_stack: negative for no limit.
        region: value of the pseudo parameter ``OS::region``.
        template_fetch_timeout_s: seconds for all templates of one request together.
        partial_update_min_resources: the resources of a template from which on an update may look
            at a part of it.
        fetch_private_addresses: whether ``template_url`` may name this network.
    """

    max_json_body_bytes: int = 1_048_576
    max_stacks_per_tenant: int = 512
    max_resources_per_stack: int = 1000
    max_nested_stack_depth: int = 5
    max_snapshots_per_stack: int = 32
    region: str | None = None
    template_fetch_timeout_s: float = 60.0
    fetch_private_addresses: bool = False
    partial_update_min_resources: int = 500


@dataclass(frozen=True, slots=True, kw_only=True)
class StackServices:
    """Everything that evaluating and validating templates takes.

    Attributes:
        custom_constraints: by name; None leaves such constraints unchecked.
        functions: template functions of plug-ins, by name.
        global_environment: the operator's, beneath every user's.
        errors: the log of unexpected errors.
        lifecycle: plug-ins that are called before and after operations.
    """

    registry: ResourceTypeRegistry
    clock: Clock
    settings: ConvergenceSettings = field(default_factory=ConvergenceSettings)
    limits: TemplateLimits = field(default_factory=TemplateLimits)
    template_cache: TemplateCache = field(default_factory=TemplateCache)
    options: StackOptions = field(default_factory=StackOptions)
    custom_constraints: Mapping[str, CustomConstraintFunction] | None = None
    functions: Mapping[str, Function] = field(default_factory=lambda: NO_FUNCTIONS)
    global_environment: Environment | None = None
    errors: ErrorLog = field(default_factory=ErrorLog)
    lifecycle: LifecyclePlugins = field(default_factory=load_lifecycle_plugins)

    def environment_from_stored(self, sections: Mapping[str, Any]) -> Environment:
        """Return the environment that a goal stores, over the operator's."""
        return Environment.from_stored(sections, base=self.global_environment, limits=self.limits)

    def action_timeout_s(self, timeout_mins: int | None) -> float:
        """Return how long an action of a stack with this timeout may take, in seconds."""
        return timeout_mins * 60.0 if timeout_mins else self.settings.action_timeout_s
