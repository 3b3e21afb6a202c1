"""Absolute URLs of stacks, resources and events.

Used by every view and by redirects.  Needs the request's base URL; must not read rows.
"""

from __future__ import annotations

import re
from functools import lru_cache
from urllib.parse import quote

from heat_convergence.convergence.model.stack import Stack

LinkDict = dict[str, str]
_KEPT_URLS = 128  # of projects; a list shows thousands of stacks of the same one
_has_unreserved_characters = re.compile(r"[A-Za-z0-9_.~-]*").fullmatch


def _quoted(part: str) -> str:
    """Return a part of a path; nearly all are their own quotation."""
    return part if _has_unreserved_characters(part) else quote(part, safe="")


def project_url(base_url: str, project_id: str) -> str:
    """Return the URL below which everything of a project is."""
    return f"{base_url}/v1/{_quoted(project_id)}"


@lru_cache(maxsize=_KEPT_URLS)
def stacks_url(base_url: str, project_id: str) -> str:
    """Return the URL of a project's stacks."""
    return f"{project_url(base_url, project_id)}/stacks"


def stack_url(base_url: str, stack: Stack) -> str:
    """Return the URL of a stack."""
    return stack_path_url(base_url, stack.project_id, stack.name, stack.id)


def stack_path_url(base_url: str, project_id: str, name: str, stack_id: str) -> str:
    """Return the URL of a stack from the parts of its path."""
    return f"{stacks_url(base_url, project_id)}/{_quoted(name)}/{_quoted(stack_id)}"


def resource_url(base_url: str, stack: Stack, resource_name: str) -> str:
    """Return the URL of a resource."""
    return f"{stack_url(base_url, stack)}/resources/{_quoted(resource_name)}"


def event_url(base_url: str, stack: Stack, resource_name: str, event_id: str) -> str:
    """Return the URL of an event."""
    return f"{resource_url(base_url, stack, resource_name)}/events/{event_id}"


def make_link(href: str, rel: str) -> LinkDict:
    """Return a link with its relation, as views list them."""
    return {"href": href, "rel": rel}
