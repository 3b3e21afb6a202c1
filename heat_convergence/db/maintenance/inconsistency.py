"""Problems of stored rows, as ``heat-convergence-manage stack check`` prints them."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Inconsistency:
    """A problem of stored rows, and its remedy; ``stack_id`` is empty if they have no stack."""

    stack_id: str
    problem: str
    remedy: str
