"""``docs/reference/command-line.rst`` lists the commands of the programs as their help does."""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterator
from pathlib import Path

from heat_convergence.cli.main import USAGE
from heat_convergence.cli.manage.main import create_parser

PAGE = (Path(__file__).parents[2] / "docs" / "reference" / "command-line.rst").read_text()
PROGRAM = "heat-convergence "
ROW = re.compile(r"^``(heat-convergence[a-z-]* [a-z_ -]+)`` +(.*(?:\n {20,}.*)*)", re.MULTILINE)


def listed() -> dict[str, str]:
    """Return the text of each command of the page, in one line."""
    return {name: " ".join(text.split()) for name, text in ROW.findall(PAGE)}


def commands(parser: argparse.ArgumentParser, prefix: str) -> Iterator[tuple[str, str, set[str]]]:
    """Yield the name, the help and the long options of each command."""
    for action in parser._actions:
        if not isinstance(action, argparse._SubParsersAction):
            continue
        helps = {choice.dest: choice.help or "" for choice in action._choices_actions}
        for name, subparser in action.choices.items():
            found = list(commands(subparser, f"{prefix} {name}"))
            if found:
                yield from found
                continue
            options = {
                next(each for each in one.option_strings if each.startswith("--"))
                for one in subparser._actions
                if one.option_strings and one.dest != "help"
            }
            yield f"{prefix} {name}", helps[name], options


def test_page_lists_the_commands_of_manage_with_their_options() -> None:
    expected = list(commands(create_parser(), "heat-convergence-manage"))
    found = {name: text for name, text in listed().items() if "manage" in name}
    assert set(found) == {name for name, _, _ in expected}
    for name, text, options in expected:
        assert found[name].startswith(text), name
        assert set(re.findall(r"``(--[a-z-]+)``", found[name])) == options, name


def test_page_lists_the_commands_without_a_server() -> None:
    expected = re.findall(r"^  ([a-z]+) +(.*)$", USAGE, re.MULTILINE)
    found = {name: text for name, text in listed().items() if name.startswith(PROGRAM)}
    assert set(found) == {f"heat-convergence {name}" for name, _ in expected}
    for name, text in expected:
        assert found[f"heat-convergence {name}"].startswith(text), name
