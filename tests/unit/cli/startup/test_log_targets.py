"""The names that the log of a program has in files, syslog and journal."""

from __future__ import annotations

import logging
import syslog
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from oslo_config import cfg
from oslo_log import handlers

from heat_convergence.cli import config

PROG = "heat-convergence-engine"


@pytest.fixture(autouse=True)
def root_handlers() -> Iterator[None]:
    """Give the root logger its handlers back."""
    root = logging.getLogger()
    kept = list(root.handlers)
    yield
    for handler in set(root.handlers) - set(kept):
        root.removeHandler(handler)
        handler.close()


def options(**values: Any) -> cfg.ConfigOpts:
    """Return options of the section DEFAULT, with the program that they belong to."""
    conf = config.create_options()
    conf([], prog=PROG, default_config_files=[])
    for name, value in values.items():
        conf.set_override(name, value)
    return conf


def in_worker(function: Callable[[], object]) -> None:
    """Run a function where the daemons set up the log: not at the bottom of the main thread."""
    thread = threading.Thread(target=function)
    thread.start()
    thread.join()


def test_file_in_the_directory_of_the_log_is_named_after_the_program(tmp_path: Path) -> None:
    conf = options(log_dir=str(tmp_path))
    in_worker(lambda: config.configure_logging(conf))
    assert [path.name for path in tmp_path.iterdir()] == [f"{PROG}.log"]


def test_named_file_in_the_directory_of_the_log_is_kept(tmp_path: Path) -> None:
    config.configure_logging(options(log_dir=str(tmp_path), log_file="own.log"))
    assert [path.name for path in tmp_path.iterdir()] == ["own.log"]


def test_log_without_directory_has_no_file(tmp_path: Path) -> None:
    conf = options(log_dir=str(tmp_path))
    config.configure_logging(conf)
    conf.clear_override("log_dir")  # as after a reload
    config.configure_logging(conf)
    assert conf.log_file is None


@pytest.mark.parametrize("facility", ["LOG_LOCAL3", "local3"])
def test_program_is_named_in_syslog(monkeypatch: pytest.MonkeyPatch, facility: str) -> None:
    opened: list[tuple[Any, ...]] = []
    monkeypatch.setattr(syslog, "openlog", lambda *arguments: opened.append(arguments))
    conf = options(use_syslog=True, syslog_log_facility=facility)
    in_worker(lambda: config.configure_logging(conf))
    assert opened[-1] == (PROG, 0, syslog.LOG_LOCAL3)


def test_program_is_named_in_the_journal(monkeypatch: pytest.MonkeyPatch) -> None:
    sent: list[str] = []

    def send(_text: str, **fields: str) -> None:
        sent.append(fields["SYSLOG_IDENTIFIER"])

    monkeypatch.setattr(handlers, "journal", SimpleNamespace(send=send))
    conf = options(use_journal=True)
    in_worker(lambda: config.configure_logging(conf))
    logging.getLogger("heat_convergence").warning("line")
    assert sent == [PROG]
