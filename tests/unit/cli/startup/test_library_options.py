"""Plug-ins that options of libraries name: missing ones are named before a daemon starts."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from keystoneauth1.loading import BaseLoader
from oslo_config import cfg

from heat_convergence.cli import config
from heat_convergence.cli.startup.checks import find_problems, find_warnings
from heat_convergence.cli.startup.token_options import register_token_options

KEY = "auth_encryption_key = 0123456789abcdef0123456789abcdef\ntransport_url = fake://\n"
USABLE = f"[DEFAULT]\n{KEY}[database]\nconnection = sqlite:///x\n"
Check = Callable[[str], tuple[list[str], list[str]]]


@pytest.fixture
def check(tmp_path: Path) -> Check:
    """Return a function that returns the problems and the warnings of a configuration."""

    def check(text: str) -> tuple[list[str], list[str]]:
        path = tmp_path / "heat.conf"
        path.write_text(USABLE + text)
        conf: cfg.ConfigOpts = config.load_config([], prog="p", files=[str(path)])
        register_token_options(conf)
        return list(find_problems(conf)), find_warnings(conf)

    return check


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (
            "[keystone_authtoken]\nauth_type = unheard-of\n",
            "[keystone_authtoken] auth_type: no plug-in unheard-of is installed",
        ),
        (
            "[trustee]\nauth_type = unheard-of\n",
            "[trustee] auth_type: no plug-in unheard-of is installed",
        ),
        (
            "[trustee]\nauth_section = shared\n[shared]\nauth_type = unheard-of\n",
            "[shared] auth_type: no plug-in unheard-of is installed",
        ),
        (
            "[keystone_authtoken]\nmemcache_security_strategy = encrypt\n",
            "[keystone_authtoken] memcache_security_strategy = ENCRYPT needs memcache_secret_key",
        ),
        (
            "[oslo_messaging_notifications]\ndriver = unheard-of\n",
            "[oslo_messaging_notifications] driver = unheard-of is not installed:"
            " choose among log, messaging, messagingv2, noop, routing, test",
        ),
    ],
)
def test_missing_plugin_is_named_in_one_line(check: Check, text: str, problem: str) -> None:
    assert check(text)[0] == [problem]


def test_plugin_without_its_modules_is_named(
    check: Check, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(BaseLoader, "available", False)
    assert check("[keystone_authtoken]\nauth_type = v3password\n")[0] == [
        "[keystone_authtoken] auth_type = v3password needs Python modules that are not installed:"
        " pip install 'keystoneauth1[password]'"
    ]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[keystone_authtoken]\nauth_type = password\n",
        "[keystone_authtoken]\nauth_type = unheard-of\n[heat_api]\nauth_strategy = noauth\n",
        "[trustee]\nauth_type = v3applicationcredential\n",
        "[oslo_messaging_notifications]\ndriver = messagingv2\ndriver = log\n",
    ],
)
def test_usable_plugin_is_no_problem(check: Check, text: str) -> None:
    assert check(text)[0] == []


def test_option_of_the_database_without_effect_is_named(check: Check) -> None:
    _problems, warnings = check(
        "slave_connection = mysql+pymysql://other/heat\nmax_retries = -1\n"
    )
    assert warnings == [
        "[database] slave_connection has no effect: every statement uses [database] connection",
        "[database] max_retries has no effect: daemons wait until the database answers",
    ]
    assert check("")[1] == []
