"""Names of the parameters that templates hide, found without evaluating the templates.

Called for views of environments and snapshots, whose defaults may be those of a template anywhere
in a tree. A name that no template hides must not be among them: what a reader gets masked is lost
if it is written again.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from heat_convergence.common.errors import Error
from heat_convergence.template.limits import TemplateLimits
from heat_convergence.template.parsing.document_loader import load_document

Json = Any

HIDING_KEYS = ("hidden", "NoEcho")  # of HOT and of CFN
_SECTIONS = ("parameters", "Parameters")
_NOT_HIDDEN = frozenset({"", "0", "f", "false", "n", "no", "none", "off"})


def may_hide_parameters(text: str) -> bool:
    """Return whether a text has a key that hides parameters; in doubt it has."""
    return any(key in text for key in HIDING_KEYS)


def hidden_parameters_of_texts(texts: Iterable[str], limits: TemplateLimits) -> frozenset[str]:
    """Return the names that any of the texts hides; those that are no templates hide none."""
    found: set[str] = set()
    for text in filter(may_hide_parameters, texts):
        try:
            found |= hidden_parameters(load_document(text, limits=limits).data)
        except Error:
            continue  # such a file cannot be the template of a stack
    return frozenset(found)


def hidden_parameters(template: Json) -> frozenset[str]:
    """Return the names that a template hides; none for one that is no map."""
    if not isinstance(template, Mapping):
        return frozenset()
    sections = (template.get(section) for section in _SECTIONS)
    return frozenset(
        name
        for section in sections
        if isinstance(section, Mapping)
        for name, declaration in section.items()
        if isinstance(declaration, Mapping) and _is_hidden(declaration)
    )


def _is_hidden(declaration: Mapping[str, Json]) -> bool:
    values = (declaration.get(key) for key in HIDING_KEYS)
    return any(str(value or "").lower() not in _NOT_HIDDEN for value in values)
