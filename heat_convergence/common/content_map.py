"""Stored texts by their hashes, as the stores return them.

A missing text, or one that cannot be decrypted, raises an error of this service that names the
remedy, instead of ``KeyError``.
"""

from __future__ import annotations

import json
from typing import Any, NoReturn

from heat_convergence.common.errors import RowsContradict


class ContentMap(dict[str, str]):
    """A mapping of content hash to text."""

    def __missing__(self, key: str) -> NoReturn:
        raise RowsContradict(f"The text {key} is not stored any more, or cannot be decrypted")


def parse_content(text: str) -> Any:
    """Return the value of a text that was stored as JSON; None of an empty one.

    Raises:
        RowsContradict: The text was changed or damaged.
    """
    try:
        return json.loads(text or "null")
    except (ValueError, RecursionError) as error:
        raise RowsContradict("A stored text is no valid JSON") from error
