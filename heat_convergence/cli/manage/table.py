"""Tables of the commands' output.

Called by the commands of this package; decides only the widths of columns.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence


def format_table(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> Iterator[str]:
    """Return the lines of a table with a line of titles."""
    lines = [columns, *rows]
    widths = [max(len(line[number]) for line in lines) for number in range(len(columns))]
    for line in lines:
        texts = (text.ljust(width) for text, width in zip(line, widths, strict=True))
        yield "  ".join(texts).rstrip()
