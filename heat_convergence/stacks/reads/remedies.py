"""Remedies of failures, by what the services and this one say of them.

Called by the API for failed stacks.  A table, and the search in it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

_TABLE: Sequence[tuple[str, str]] = (
    (
        r"quota|limit exceeded|too many",
        "Ask for a larger quota, delete what is not used, or lower the sizes in the template.",
    ),
    (
        r"no valid host|not enough (hosts|memory|ram|disk)|insufficient",
        "Choose another flavor or availability zone, or ask the operator about free capacity.",
    ),
    (
        r"forbidden|not authori[sz]ed|unauthori[sz]ed|policy does not allow",
        "Check the roles of the stack's owner in the project, and update the stack.",
    ),
    (
        r"timed out|timeout",
        "Look at the resource in its service; a longer timeout of the stack may help.",
    ),
    (
        r"property error|error validating value|unknown property",
        "Correct the named property in the template or in the parameters, and update the stack.",
    ),
    (
        r"not ?found|could not be found|can not be found|no longer exists",
        "Check that what the properties name exists and is visible to the project.",
    ),
    (
        r"conflict|already exists|in use",
        "Look for another object with the same name or address, and rename or delete it.",
    ),
    (
        r"unavailable|connection|502|503|504",
        "Wait until the service answers again, and update the stack with the same template.",
    ),
    (
        r"cancelled",
        "Update the stack with the same template to go on, or delete it.",
    ),
)
_PATTERNS = tuple((re.compile(pattern, re.IGNORECASE), remedy) for pattern, remedy in _TABLE)
_DEFAULT = "Correct what the reason names, and update the stack; finished resources stay."


def find_remedy(reason: str) -> str:
    """Return what a user can do about a failure of that reason; the first match counts."""
    for pattern, remedy in _PATTERNS:
        if pattern.search(reason):
            return remedy
    return _DEFAULT
