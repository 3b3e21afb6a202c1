"""The roles that rules name, and the conversion of a table of rules to oslo.policy's.

Used by every other file of this package; must not name any action itself.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from oslo_policy import policy

_IN_PROJECT = "project_id:%(project_id)s"
READER = f"role:reader and {_IN_PROJECT}"
MEMBER = f"role:member and {_IN_PROJECT}"
ADMIN = f"role:admin and {_IN_PROJECT}"
READER_OR_STACK_USER = (
    f"(role:reader and {_IN_PROJECT}) or (role:heat_stack_user and {_IN_PROJECT})"
)
PROJECT_ADMIN = "rule:project_admin"
DENY_STACK_USER = "rule:deny_stack_user"
ALLOW_EVERYBODY = "rule:allow_everybody"
DENY_EVERYBODY = "rule:deny_everybody"
CONTEXT_IS_ADMIN = "rule:context_is_admin"
SERVICE_ADMIN = "rule:service_admin"

_PROJECT_SCOPE = ["project"]
_OLD_REASON = "The default of a time without reader and member roles."
_OLD_SINCE = "Wallaby"

_BASE = {
    "context_is_admin": "(role:admin and is_admin_project:True)",
    # Without authentication the user is the one who runs the service.
    "service_admin": "rule:context_is_admin or is_local_user:True",
    "project_admin": "role:admin",
    "deny_stack_user": "not role:heat_stack_user",
    "deny_everybody": "!",
    "allow_everybody": "",
}


@dataclass(frozen=True, slots=True)
class PolicyRule:
    """A rule with its default.

    Attributes:
        deprecated_check_str: the older default, used when ``enforce_new_defaults`` is off.
        method: of the request that the rule is about, for the documentation.
        path: of that request, below ``/v1/{tenant_id}``.
    """

    name: str
    check_str: str
    deprecated_check_str: str | None = DENY_STACK_USER
    method: str = ""
    path: str = ""

    def to_rule_default(self) -> policy.RuleDefault:
        """Return the rule as oslo.policy takes it."""
        old = None
        if self.deprecated_check_str is not None:
            old = policy.DeprecatedRule(
                self.name,
                self.deprecated_check_str,
                deprecated_reason=_OLD_REASON,
                deprecated_since=_OLD_SINCE,
            )
        if not self.path:
            return policy.RuleDefault(
                self.name, self.check_str, scope_types=_PROJECT_SCOPE, deprecated_rule=old
            )
        return policy.DocumentedRuleDefault(
            self.name,
            self.check_str,
            f"{self.method} {self.path}",
            [{"path": f"/v1/{{tenant_id}}{self.path}", "method": self.method}],
            scope_types=_PROJECT_SCOPE,
            deprecated_rule=old,
        )


def rule_defaults(rules: Iterable[PolicyRule]) -> list[policy.RuleDefault]:
    """Return the rules as oslo.policy takes them."""
    return [rule.to_rule_default() for rule in rules]


def list_rules() -> list[policy.RuleDefault]:
    """Return the base rules that the others refer to."""
    return [policy.RuleDefault(name, check) for name, check in _BASE.items()]
