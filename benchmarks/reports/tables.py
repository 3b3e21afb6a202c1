"""Tables of the documentation, in reStructuredText, from rows of text."""

from __future__ import annotations

from collections.abc import Sequence


def simple_table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a simple table; the cells must not be empty in the first column."""
    lines = [list(head), *(list(row) for row in rows)]
    widths = [max(len(line[column]) for line in lines) for column in range(len(head))]
    rule = "  ".join("=" * width for width in widths)
    texts = [
        "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip()
        for line in lines
    ]
    return "\n".join([rule, texts[0], rule, *texts[1:], rule]) + "\n"


def number(value: float | None, unit: str = "") -> str:
    """Return a number with three digits that mean something, or a dash."""
    if value is None:
        return "–"
    digits = 0 if abs(value) >= 100 or value == int(value) else 1 if abs(value) >= 10 else 2
    return f"{value:,.{digits}f}{unit and ' ' + unit}"


def titled(title: str, table: str) -> str:
    """Return the directive of a table with a title."""
    indented = "".join(f"   {line}\n" for line in table.splitlines())
    return f".. table:: {title}\n\n{indented}"
