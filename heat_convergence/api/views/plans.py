"""Stored plans as clients read them.

Pure functions of what was stored.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from datetime import datetime
from typing import Any

from heat_convergence.api.views.formats import format_time
from heat_convergence.api.views.links import make_link, project_url
from heat_convergence.convergence.plans.stored_plan import StoredPlan
from heat_convergence.template.text_redaction import mask_values

Json = Any
_VALUES = ("desired", "applied", "observed")


def format_plan_header(plan: StoredPlan, now: datetime, base_url: str) -> dict[str, Json]:
    """Return a plan without its resources."""
    url = f"{project_url(base_url, plan.project_id)}/plans/{plan.id}"
    return {
        "id": plan.id,
        "stack_id": plan.stack_id,
        "stack_name": plan.stack_name,
        "action": str(plan.action),
        "plan_status": str(plan.status(now)),
        "creation_time": format_time(plan.created_at),
        "expires_at": format_time(plan.expires_at),
        "executed_at": format_time(plan.executed_at),
        "stack_version": plan.stack_version,
        "summary": dict(plan.summary),
        "links": [make_link(url, "self")],
    }


def format_plan(
    plan: StoredPlan,
    now: datetime,
    base_url: str,
    changes: Collection[str],
    *,
    shows_secrets: bool,
) -> dict[str, Json]:
    """Return a plan with its resources; values of sensitive ones may be masked.

    Args:
        plan: the plan.
        now: the time.
        base_url: of links.
        changes: the changes to show; empty for all.
        shows_secrets: whether to show the values of sensitive resources.
    """
    resources = [
        _format_resource(each, shows_secrets=shows_secrets)
        for each in plan.document["resources"]
        if not changes or each["change"] in changes
    ]
    quotas = list(plan.document["quotas"])
    return {**format_plan_header(plan, now, base_url), "quotas": quotas, "resources": resources}


def _format_resource(entry: Mapping[str, Json], *, shows_secrets: bool) -> dict[str, Json]:
    """Return an entry with all of its keys."""
    properties = entry.get("properties", ())
    masked = entry.get("sensitive", False) and not shows_secrets
    return {
        "reason": "",
        "dependents": [],
        "destructive": False,
        "fails": False,
        "sensitive": False,
        **entry,
        "properties": [_masked(each) if masked else dict(each) for each in properties],
    }


def _masked(entry: Mapping[str, Json]) -> dict[str, Json]:
    values = {name: entry[name] for name in _VALUES if name in entry}
    return {**entry, **mask_values(values)}
