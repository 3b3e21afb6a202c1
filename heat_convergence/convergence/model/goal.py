"""The goal that one traversal is to reach."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from heat_convergence.convergence.model.json_value import Json


@dataclass(frozen=True, slots=True)
class Goal:
    """The goal of one traversal, as the user has requested it.

    ``template_hash`` and the values of ``files`` (name → hash) point into the
    content store.  ``outputs`` are partly evaluated, ``parameters`` resolved.
    """

    id: str
    stack_id: str
    version: int
    template_hash: str
    environment: Mapping[str, Json]
    files: Mapping[str, str]
    parameters: Mapping[str, Json]
    outputs: Mapping[str, Json]
    description: str
    created_at: datetime
    sensitive: bool = False  # has values of hidden parameters: encrypted at rest
    content_hashes: tuple[str, ...] = ()  # contents that it and its definitions refer to
    common_part_hash: str | None = None  # shared with other goals: ``goal_storage``
