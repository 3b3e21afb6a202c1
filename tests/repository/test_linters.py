"""``tox -e lint`` fails if any linter does, and shows what each one says."""

from __future__ import annotations

import pytest

from tools import linters


@pytest.mark.parametrize(
    ("commands", "status"),
    [
        (("echo fine", "true"), 0),
        (("echo fine", "echo wrong >&2; exit 3"), 1),
        (("echo fine", "false | cat"), 1),
    ],
)
def test_status_and_output_of_all_linters(
    commands: tuple[str, ...],
    status: int,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(linters, "COMMANDS", commands)
    assert linters.main() == status
    printed = capsys.readouterr().out
    assert "passed: echo fine\nfine\n" in printed
    assert all(command in printed for command in commands)
    assert ("FAILED: " in printed) == bool(status)
