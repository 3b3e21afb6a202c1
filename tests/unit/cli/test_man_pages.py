"""Man pages: one for each program of the service, with its options and commands."""

from __future__ import annotations

from pathlib import Path

import pytest

from tools.man_pages import main

PROGRAMS = ("api", "api-cfn", "engine", "observer", "manage")


def test_there_is_a_page_for_each_program(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([str(tmp_path / "man1")]) == 0
    pages = {path.name: path.read_text() for path in (tmp_path / "man1").iterdir()}
    assert set(pages) == {f"heat-convergence-{program}.1" for program in PROGRAMS}
    for name, page in pages.items():
        assert page.startswith(".TH HEAT")
        assert "config\\-file" in page, name
    assert "purge_deleted" in pages["heat-convergence-manage.1"]
    assert len(capsys.readouterr().out.splitlines()) == len(PROGRAMS)
