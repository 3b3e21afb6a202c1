"""Policy files that change while the API runs."""

from __future__ import annotations

import os
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest.mock import Mock

import pytest
from oslo_config import cfg
from oslo_policy import policy

from heat_convergence.api.context import Caller
from heat_convergence.api.policies.enforcer import PolicyEnforcer

_RULE = "stacks:index"


class Clock:
    """A clock that a test sets."""

    def __init__(self) -> None:
        self.now_s = 100.0

    def __call__(self) -> float:
        return self.now_s


def enforcer(folder: Path, clock: Clock) -> PolicyEnforcer:
    options = folder / "hc.conf"
    options.write_text(f"[oslo_policy]\npolicy_file = {folder / 'policy.yaml'}\n")
    conf = cfg.ConfigOpts()
    conf([], default_config_files=[str(options)], default_config_dirs=[])
    return PolicyEnforcer(conf, clock)


def write_rule(folder: Path, text: str, changed_at: int) -> None:
    path = folder / "policy.yaml"
    path.write_text(f'"{_RULE}": "{text}"\n')
    os.utime(path, (changed_at, changed_at))


def request() -> Any:
    caller = Caller(user_id="u", project_id="p", roles=("reader",), is_admin_project=False)
    return SimpleNamespace(project_id="p", caller=caller)


def test_change_of_the_file_takes_effect_within_a_second(tmp_path: Path) -> None:
    write_rule(tmp_path, "!", changed_at=1)
    clock = Clock()
    rules = enforcer(tmp_path, clock)
    assert not rules.allows(request(), _RULE)
    write_rule(tmp_path, "@", changed_at=2)
    clock.now_s += 1.0
    assert rules.allows(request(), _RULE)


def test_files_are_looked_at_once_a_second(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    looks = Mock(wraps=policy.Enforcer.load_rules)
    monkeypatch.setattr(
        policy.Enforcer, "load_rules", lambda self, force=False: looks(self, force)
    )
    write_rule(tmp_path, "@", changed_at=1)
    clock = Clock()
    rules = enforcer(tmp_path, clock)
    for _ in range(10):
        assert rules.allows(request(), _RULE)
        clock.now_s += 0.25
    assert looks.call_count == 3
