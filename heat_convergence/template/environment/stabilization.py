"""Stabilization windows: how long resources must have been healthy before a stack is complete.

Decides which windows an environment may have under ``stabilization``, and how they are stored
with a resource.  Called by ``resource_registry`` and, for the stored form, by ``convergence``.
Must not know resource types: what is healthy is their data.

Source: docs/use/readiness.rst, "Stabilization window".
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from heat_convergence.common.errors import HTTPBadRequest
from heat_convergence.template.environment.policy_entries import EntryForm

Json = Any
STABILIZATION = "stabilization"  # key of a resource's window in the ``resource_registry``
MAX_WINDOW_S = 86400
_WINDOW = "window"
_FORM = EntryForm("a number of seconds", (_WINDOW,), int)
_PREFIX = f"{STABILIZATION}="


def parse_stabilization(value: Json, path: str) -> int | None:
    """Return the seconds of an entry ``stabilization``, 0 for no window; None if it has none.

    Args:
        value: the seconds, or a map with them.
        path: where it stands, for the error.

    Raises:
        HTTPBadRequest: the entry has another form, or the window is too long.
    """
    window_s = _FORM.read(value, path).get(_WINDOW)
    if window_s is None:
        return None
    is_number = isinstance(window_s, int) and not isinstance(window_s, bool)
    if not is_number or not 0 <= window_s <= MAX_WINDOW_S:
        raise HTTPBadRequest(
            f'"{window_s}" is not a number of seconds from 0 to {MAX_WINDOW_S}'
            f" ({_FORM.word_path(value, path)})"
        )
    return int(window_s)


def stabilization_word(window_s: int) -> str:
    """Return the form of a window that is stored among a resource's restrictions."""
    return f"{_PREFIX}{window_s}"


def is_window_word(word: str) -> bool:
    """Return whether a word among a resource's restrictions is a window."""
    return word.startswith(_PREFIX)


def window_from_words(words: Iterable[str]) -> int:
    """Return the seconds of the window among a resource's restrictions, 0 without one.

    Words of a later release are left out.
    """
    found = (word.removeprefix(_PREFIX) for word in words if word.startswith(_PREFIX))
    return max((int(each) for each in found if each.isascii() and each.isdigit()), default=0)
