"""Commands of pages of the documentation, for tests that run them as they are printed."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

DOCS = Path(__file__).parents[1] / "docs"
PROGRAMS = ("heat-convergence", "openstack ", "rabbitmqctl ", "systemctl ", "cat ")
_BLOCK = re.compile(r"::\n\n((?:(?: {3,}[^\n]*)?\n)+)")


class DocumentedPage:
    """One page.

    Args:
        name: File name in ``docs``.
    """

    def __init__(self, name: str) -> None:
        self._text = (DOCS / name).read_text()

    def block_after(self, text: str) -> list[str]:
        """Return the lines of the literal block that follows a text of the page."""
        pattern = rf"{re.escape(text)}.*?\n\n((?:    [^\n]*\n|\n)+)"
        block = re.search(pattern, self._text, re.DOTALL)
        assert block is not None, text
        return [line.strip() for line in block.group(1).splitlines() if line.strip()]

    def commands(self) -> Iterator[str]:
        """Yield the commands of all literal blocks, each in one line.

        A line that is indented further than the command, or follows a backslash, continues it.
        """
        for block in _BLOCK.findall(self._text):
            command, indent = "", 0
            for line in [*block.splitlines(), ""]:
                text, depth = (
                    line.strip().removesuffix("\\").rstrip(),
                    len(line) - len(line.lstrip()),
                )
                if text and command and depth > indent:
                    command = f"{command} {text}"
                    continue
                if command:
                    yield command
                command, indent = (text, depth) if text.startswith(PROGRAMS) else ("", 0)


def with_name(line: str, name: str) -> str:
    """Return a line in which database, user and virtual host have another name."""
    return re.sub(r"\bheat\b", name, line)
