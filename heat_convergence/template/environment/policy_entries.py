"""The form of policies in an environment: a word, or a map that has the word under a key.

Used by the modules of the policies.  Decides which form an entry has, and which keys; must not
know what a word means.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from heat_convergence.common.errors import HTTPBadRequest
from heat_convergence.template.diagnostics import did_you_mean

Json = Any


@dataclass(frozen=True, slots=True)
class EntryForm:
    """The form of the entries of one policy.

    Attributes:
        meaning: what the word is, with its article.
        keys: the keys that a map may have, that of the word first.
        word_type: the type of the word.
    """

    meaning: str
    keys: tuple[str, ...]
    word_type: type = str

    def read(self, value: Json, path: str) -> Mapping[str, Json]:
        """Return an entry as a map: a word stands for the map with it alone.

        Args:
            value: the entry.
            path: where it stands, for the error.

        Raises:
            HTTPBadRequest: the entry has another form, or an unknown key.
        """
        if isinstance(value, self.word_type) and not isinstance(value, bool):
            return {self.keys[0]: value}
        if not isinstance(value, Mapping):
            raise HTTPBadRequest(
                f"{path} must be {self.meaning}, or a map with {', '.join(self.keys)}"
            )
        for key in value:
            if key not in self.keys:
                hint = did_you_mean(key, self.keys) if isinstance(key, str) else ""
                raise HTTPBadRequest(f'{path} has an unknown key "{key}"{hint}')
        return value

    def word_path(self, value: Json, path: str) -> str:
        """Return where the word of an entry stands, for errors."""
        return f"{path}.{self.keys[0]}" if isinstance(value, Mapping) else path
