"""The goal that one traversal is to reach."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from heat_convergence.convergence.model.json_value import Json


@dataclass(frozen=True, slots=True)
class Goal:
    """What one traversal is to reach, as the user gave it.

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
    sensitive: bool = False  # has values of hidden parameters: sealed at rest
    content_hashes: tuple[str, ...] = ()  # contents that it and its resources' definitions lead to
    common_part_hash: str | None = None  # hash of what it has in common with others: ``apart``
