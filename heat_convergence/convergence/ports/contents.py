"""The port to the content store: long texts, each kept once."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Protocol


class ContentRepository(Protocol):
    """Texts by the SHA-256 of their UTF-8 form, shared by all stacks."""

    def put(self, contents: Mapping[str, str]) -> None:
        """Store texts by hash; a text that is stored already stays."""

    def get(self, hashes: Collection[str]) -> Mapping[str, str]:
        """Return those of the texts that are stored, by hash.

        Looking up another hash in the result raises ``RowsContradict``.
        """
