"""Commands of pages of the documentation, for tests that run them as they are printed."""

from __future__ import annotations

import re
from pathlib import Path

_DOCS = Path(__file__).parents[1] / "docs"


class DocumentedPage:
    """One page.

    Args:
        name: File name in ``docs``.
    """

    def __init__(self, name: str) -> None:
        self._text = (_DOCS / name).read_text()

    def block_after(self, text: str) -> list[str]:
        """Return the lines of the literal block that follows a text of the page."""
        pattern = rf"{re.escape(text)}.*?\n\n((?:    [^\n]*\n|\n)+)"
        block = re.search(pattern, self._text, re.DOTALL)
        assert block is not None, text
        return [line.strip() for line in block.group(1).splitlines() if line.strip()]


def with_name(line: str, name: str) -> str:
    """Return a line in which database, user and virtual host have another name."""
    return re.sub(r"\bheat\b", name, line)
