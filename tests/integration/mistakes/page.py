"""``docs/operate/mistakes.rst``: the catalogue of mistakes as a table.

``HEAT_CONVERGENCE_TEST_REWRITE_MISTAKES=1 pytest tests/integration/mistakes`` measures the seconds
anew and writes the page.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path

from tests.integration.mistakes.catalogue import EVERY, MISTAKES, OperatorMistake

REWRITE = bool(os.environ.get("HEAT_CONVERGENCE_TEST_REWRITE_MISTAKES"))
PAGE = Path(__file__).parents[3] / "docs" / "operate" / "mistakes.rst"
SECONDS = Path(__file__).parent / "data" / "seconds.json"
_HEAD = """\
========
Mistakes
========

What each daemon says about a mistake of its operator. A search for a part of the text finds the
row. The tests make each mistake and start all daemons that it concerns; they print at most three
lines about it, without a traceback and without a password.

A daemon that *ends* has written the line last, and has the exit code (:doc:`operating`). One that
*waits* repeats the line, answers 503 if it is an API, and begins to work as soon as the mistake is
corrected. One that *works* goes on without what the line names. The seconds are
processor time of the slowest daemon from its start to its end. The last column is a part of what
``heat-convergence-manage doctor`` prints; where it is empty, only the daemon itself can notice.

.. list-table::
   :header-rows: 1
   :widths: 22 38 12 8 20

   * - mistake
     - line of the log
     - the daemon
     - seconds
     - ``doctor``
"""


def read_seconds() -> dict[str, float]:
    """Return the measured seconds by mistake."""
    return dict(json.loads(SECONDS.read_text()))


def write_seconds(seconds: Mapping[str, float]) -> None:
    """Store measured seconds, and write the page with them."""
    known = {**read_seconds(), **seconds}
    titles = [mistake.title for mistake in MISTAKES if mistake.title in known]
    SECONDS.write_text(json.dumps({title: known[title] for title in titles}, indent=1) + "\n")
    PAGE.write_text(render(known))


def render(seconds: Mapping[str, float]) -> str:
    """Return the page."""
    return _HEAD + "".join(_row(each, seconds.get(each.title, 0.0)) for each in MISTAKES)


def _row(mistake: OperatorMistake, seconds: float) -> str:
    cells = (
        mistake.title,
        _literal(mistake.message),
        _effect(mistake),
        f"{seconds:.1f}",
        _literal(mistake.doctor),
    )
    lines = [f"     - {cell}".rstrip() for cell in cells]
    return "\n".join(lines).replace("     - ", "   * - ", 1) + "\n"


def _effect(mistake: OperatorMistake) -> str:
    if mistake.code is not None:
        text = f"ends: {mistake.code}"
    else:
        text = "waits" if mistake.waits else "works"
    if mistake.daemons == EVERY:
        return text
    return f"{text} ({', '.join(mistake.daemons)})"


def _literal(text: str) -> str:
    return f"``{text}``" if text else ""
