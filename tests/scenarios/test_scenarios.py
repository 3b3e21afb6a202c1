"""Every scenario shows what its file has on record, and breaks no rule.

``pytest tests/scenarios --rewrite`` records them anew; the difference is reviewed.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from heat_convergence.testing import transcript

HERE = Path(__file__).parent
FILES = sorted(path.relative_to(HERE) for path in HERE.rglob("*.txt"))


@pytest.mark.parametrize("name", FILES, ids=str)
def test_scenario(name: Path, request: pytest.FixtureRequest) -> None:
    path = HERE / name
    recorded = path.read_text()
    shown = transcript.rewritten(recorded)
    if request.config.getoption("--rewrite", default=False):
        path.write_text(shown)
    assert not transcript.is_broken(shown), shown
    assert shown == path.read_text()
