"""Texts by their hashes, as stores give them.

Whoever asks for one that is not there is told so by an error of this service, with what
is to be done, and not by a ``KeyError``.
"""

from __future__ import annotations

from typing import NoReturn

from heat_convergence.common.errors import RowsContradict


class ContentMap(dict[str, str]):
    def __missing__(self, key: str) -> NoReturn:
        raise RowsContradict(f"The text {key} is not stored any more")
