"""Output of the demo on a terminal and into a pipe."""

from __future__ import annotations

import io

import pytest

from heat_convergence.cli.demo.display import DemoDisplay, ProgressRow, ProgressState


class Terminal(io.StringIO):
    encoding = "utf-8"

    def isatty(self) -> bool:
        return True


def rows(**states: ProgressState) -> list[ProgressRow]:
    return [ProgressRow(name, "T", state, state.name.lower()) for name, state in states.items()]


def test_pipe_gets_one_line_for_each_change() -> None:
    out = io.StringIO()
    display = DemoDisplay(out)
    display.show_progress(
        rows(a=ProgressState.IN_PROGRESS, b=ProgressState.WAITING), "CREATE_IN_PROGRESS"
    )
    display.show_progress(
        rows(a=ProgressState.IN_PROGRESS, b=ProgressState.WAITING), "CREATE_IN_PROGRESS"
    )
    display.show_progress(
        rows(a=ProgressState.READY, b=ProgressState.UNCHANGED), "CREATE_COMPLETE"
    )
    lines = [line.split(" s  ")[1].split() for line in out.getvalue().splitlines()]
    assert lines == [[">", "a", "T", "in_progress"], ["+", "a", "T", "ready"]]
    assert "\x1b" not in out.getvalue()


def test_terminal_is_redrawn_in_place(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.delenv("NO_COLOR", raising=False)
    out = Terminal()
    display = DemoDisplay(out)
    display.show_progress(
        rows(a=ProgressState.IN_PROGRESS, b=ProgressState.UNCHANGED), "CREATE_IN_PROGRESS"
    )
    first = out.getvalue()
    display.show_progress(
        rows(a=ProgressState.READY, b=ProgressState.UNCHANGED), "CREATE_COMPLETE"
    )
    assert "1 of 2 ready" in first
    assert "2 of 2 ready" in out.getvalue()
    assert out.getvalue()[len(first) :].startswith("\x1b[3F\x1b[J")
    assert "\x1b[33m" in first


def test_no_color_disables_colours(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("NO_COLOR", "1")
    out = Terminal()
    DemoDisplay(out).show_progress(rows(a=ProgressState.READY), "CREATE_COMPLETE")
    assert "\x1b[" not in out.getvalue()


def test_graph_lists_required_resources_first() -> None:
    out = io.StringIO()
    DemoDisplay(out).print_graph(
        {"top": ["left", "right"], "left": ["base"], "right": [], "base": []}
    )
    assert out.getvalue().splitlines() == [
        "  base",
        "  right",
        "    left <- base",
        "      top <- left, right",
    ]
