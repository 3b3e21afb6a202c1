"""Names of the parameters that templates hide, found without evaluating the templates.

Called for views of environments and snapshots, whose defaults may be those of a template anywhere
in a tree. A name that no template hides must not be among them: what a reader gets masked is lost
if it is written again. Only where a request would take too long to read the templates, all names
count as hidden.
"""

from __future__ import annotations

import hashlib
from collections.abc import Container, Iterable, Mapping
from typing import Any

from heat_convergence.common.errors import Error, RequestLimitExceeded
from heat_convergence.template.evaluation_budget import has_steps_left
from heat_convergence.template.limits import TemplateLimits
from heat_convergence.template.parsing.document_loader import load_document

Json = Any

HIDING_KEYS = ("hidden", "NoEcho")  # of HOT and of CFN
_SECTIONS = ("parameters", "Parameters")
_NOT_HIDDEN = frozenset({"", "0", "f", "false", "n", "no", "none", "off"})
_MAX_CACHED_TEXTS = 4_096
_MAX_CACHED_CHARS = 1_000  # of the names of one text together


class EveryName(Container[str]):
    """The names of all parameters."""

    def __contains__(self, name: object) -> bool:
        """Return True."""
        return True


_NAMES_BY_DIGEST: dict[bytes, frozenset[str]] = {}  # bounded


def may_hide_parameters(text: str) -> bool:
    """Return whether a text has a key that hides parameters; in doubt it has."""
    return any(key in text for key in HIDING_KEYS)


def hidden_parameters_of_texts(
    texts: Iterable[str], limits: TemplateLimits, others: Iterable[str] = ()
) -> Container[str]:
    """Return the names that any of the texts hides; those that are no templates hide none.

    Args:
        texts: templates and other files of a tree.
        limits: what each of them may be.
        others: further names that are hidden.
    """
    found = set(others)
    try:
        for text in filter(may_hide_parameters, texts):
            found |= _names_of(text, limits)
    except RequestLimitExceeded:
        return EveryName()
    return frozenset(found)


def _names_of(text: str, limits: TemplateLimits) -> frozenset[str]:
    """Return the names that a text hides, which is read once per process."""
    key = hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()
    known = _NAMES_BY_DIGEST.get(key)
    if known is not None:
        return known
    names = _read_names(text, limits)
    if len(_NAMES_BY_DIGEST) >= _MAX_CACHED_TEXTS:
        _NAMES_BY_DIGEST.clear()
    if sum(map(len, names)) <= _MAX_CACHED_CHARS:
        _NAMES_BY_DIGEST[key] = names
    return names


def _read_names(text: str, limits: TemplateLimits) -> frozenset[str]:
    try:
        return hidden_parameters(load_document(text, limits=limits).data)
    except Error:
        if not has_steps_left():
            raise
        return frozenset()  # such a file cannot be the template of a stack


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
