"""Enforcement of policy rules for the caller of a request.

Called by the root controller for every route and by handlers whose rule depends on the
body.  Must not know what a rule stands for.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from oslo_config import cfg
from oslo_policy import policy

from heat_convergence.api.http import ApiRequest
from heat_convergence.api.policies import base, rules
from heat_convergence.common import errors

_BETWEEN_LOOKS_S = 1.0  # at the policy files
_DEFAULTS = tuple(rules.list_rules())


class _Rules(policy.Enforcer):
    """Rules whose files are looked at once a second at most: the library does so for each check.

    That is as much work as two checks, of which a request has two or more.
    """

    def __init__(self, conf: cfg.ConfigOpts, monotonic: Callable[[], float]) -> None:
        super().__init__(conf)
        self._monotonic = monotonic
        self._next_look_s = float("-inf")

    def register_default(self, default: policy.RuleDefault) -> None:
        """Register a rule; the library changes those alone that have a deprecated one.

        It copies all, which takes half of the start of a service in one process.
        """
        if default.deprecated_rule is not None or default.name in self.registered_rules:
            super().register_default(default)
        else:
            self.registered_rules[default.name] = default

    def load_rules(self, force_reload: bool = False) -> None:
        """Read the files that have changed."""
        now_s = self._monotonic()
        if force_reload or now_s >= self._next_look_s:
            super().load_rules(force_reload)
            self._next_look_s = now_s + _BETWEEN_LOOKS_S


class PolicyEnforcer:
    """The rules of the configuration's policy file over the defaults."""

    def __init__(
        self,
        conf: cfg.ConfigOpts | None = None,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        if conf is None:
            conf = cfg.ConfigOpts()
            conf([], default_config_files=[], default_config_dirs=[])
        self._enforcer = _Rules(conf, monotonic)
        self._enforcer.suppress_deprecation_warnings = True
        self._enforcer.suppress_default_change_warnings = True
        self._enforcer.register_defaults(_DEFAULTS)

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
