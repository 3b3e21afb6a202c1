"""Stored texts by their hashes, as the stores return them.

A missing text raises an error of this service that names the remedy, instead of ``KeyError``.
"""

from __future__ import annotations

from typing import NoReturn

from heat_convergence.common.errors import RowsContradict


class ContentMap(dict[str, str]):
    """A mapping of content hash to text."""

    def __missing__(self, key: str) -> NoReturn:
        raise RowsContradict(f"The text {key} is not stored any more")
