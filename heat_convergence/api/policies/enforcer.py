"""Enforcement of policy rules for the caller of a request.

Called by the root controller for every route and by handlers whose rule depends on the
body.  Must not know what a rule stands for.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from oslo_config import cfg
from oslo_policy import policy

from heat_convergence.api.http import ApiRequest
from heat_convergence.api.policies import base, rules
from heat_convergence.common import errors


class PolicyEnforcer:
    """The rules of the configuration's policy file over the defaults."""

    def __init__(self, conf: cfg.ConfigOpts | None = None) -> None:
        if conf is None:
            conf = cfg.ConfigOpts()
            conf([], default_config_files=[], default_config_dirs=[])
        self._enforcer = policy.Enforcer(conf)
        self._enforcer.suppress_deprecation_warnings = True
        self._enforcer.suppress_default_change_warnings = True
        self._enforcer.register_defaults(rules.list_rules())

    def enforce(self, request: ApiRequest, rule: str) -> None:
        """Check that the caller passes the rule.

        Raises:
            Forbidden: the rule denies it.
        """
        if not self.allows(request, rule):
            raise errors.Forbidden(f"You are not authorized to use {rule}.")

    def allows(self, request: ApiRequest, rule: str) -> bool:
        """Return whether the caller passes the rule; an unregistered rule denies."""
        target: dict[str, Any] = {"project_id": request.project_id}
        return bool(self._enforcer.enforce(rule, target, request.caller))

    def is_cloud_admin(self, request: ApiRequest) -> bool:
        """Return whether the caller administers the whole cloud."""
        return self.allows(request, base.CONTEXT_IS_ADMIN.removeprefix("rule:"))

    def type_forbidden_for(self, request: ApiRequest) -> Callable[[str], bool]:
        """Return a function that tells whether policy keeps a type from the caller."""
        return lambda name: not self.allows_type(request, name)

    def allows_type(self, request: ApiRequest, type_name: str) -> bool:
        """Return whether the caller may use a resource type.

        The type's own rule and that of its prefix decide; a type without rules is allowed.
        """
        prefix = type_name.rpartition("::")[0]
        names = (f"resource_types:{type_name}", f"resource_types:{prefix}::*")
        self._enforcer.load_rules()
        return all(self.allows(request, name) for name in names if name in self._enforcer.rules)
