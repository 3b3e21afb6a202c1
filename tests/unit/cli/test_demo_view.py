"""What the demo shows on a terminal and into a pipe."""

from __future__ import annotations

import io

from heat_convergence.cli.demo_view import Row, State, View


class Terminal(io.StringIO):
    encoding = "utf-8"

    def isatty(self) -> bool:
        return True


def rows(**states: State) -> list[Row]:
    return [Row(name, "T", state, state.name.lower()) for name, state in states.items()]


def test_a_pipe_gets_one_line_for_each_change():
    out = io.StringIO()
    view = View(out)
    view.progress(rows(a=State.RUNS, b=State.WAITS), "CREATE_IN_PROGRESS")
    view.progress(rows(a=State.RUNS, b=State.WAITS), "CREATE_IN_PROGRESS")
    view.progress(rows(a=State.READY, b=State.KEPT), "CREATE_COMPLETE")
    told = [line.split(" s  ")[1].split() for line in out.getvalue().splitlines()]
    assert told == [[">", "a", "T", "runs"], ["+", "a", "T", "ready"]]
    assert "\x1b" not in out.getvalue()


def test_a_terminal_is_redrawn_in_place(monkeypatch):
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.delenv("NO_COLOR", raising=False)
    out = Terminal()
    view = View(out)
    view.progress(rows(a=State.RUNS, b=State.KEPT), "CREATE_IN_PROGRESS")
    first = out.getvalue()
    view.progress(rows(a=State.READY, b=State.KEPT), "CREATE_COMPLETE")
    assert "1 of 2 ready" in first
    assert "2 of 2 ready" in out.getvalue()
    assert out.getvalue()[len(first) :].startswith("\x1b[3F\x1b[J")
    assert "\x1b[33m" in first


def test_colours_can_be_refused(monkeypatch):
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("NO_COLOR", "1")
    out = Terminal()
    View(out).progress(rows(a=State.READY), "CREATE_COMPLETE")
    assert "\x1b[" not in out.getvalue()


def test_the_graph_puts_what_is_needed_first():
    out = io.StringIO()
    View(out).graph({"top": ["left", "right"], "left": ["base"], "right": [], "base": []})
    assert out.getvalue().splitlines() == [
        "  base",
        "  right",
        "    left <- base",
        "      top <- left, right",
    ]
