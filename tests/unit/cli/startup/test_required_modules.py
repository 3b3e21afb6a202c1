"""Modules that options need: found before a daemon starts, and named in one line."""

from __future__ import annotations

import re
from collections.abc import Callable
from importlib.machinery import ModuleSpec
from pathlib import Path

import pytest
from oslo_config import cfg

from heat_convergence.cli import config
from heat_convergence.cli.daemons import api_daemon, daemon_service
from heat_convergence.cli.startup import required_modules
from heat_convergence.cli.startup.required_modules import (
    API_MODULES,
    DAEMON_MODULES,
    find_contradictions,
    find_missing,
)
from heat_convergence.cli.startup.startup_state import StartupProblem
from heat_convergence.cli.startup.token_options import register_token_options

MYSQL = "[database]\nconnection = mysql+pymysql://u:p@db/heat\n"
MEMCACHED = "[keystone_authtoken]\nmemcached_servers = 127.0.0.1:11211\n"
LoadConfig = Callable[[str], cfg.ConfigOpts]


@pytest.fixture
def without_modules(monkeypatch: pytest.MonkeyPatch) -> None:
    def find_none(name: str) -> ModuleSpec | None:
        return None

    monkeypatch.setattr(required_modules, "find_spec", find_none)


@pytest.fixture
def load(tmp_path: Path) -> LoadConfig:
    def load(text: str) -> cfg.ConfigOpts:
        path = tmp_path / "heat.conf"
        path.write_text(text)
        conf = config.load_config([], prog="p", files=[str(path)])
        register_token_options(conf)
        return conf

    return load


@pytest.mark.usefixtures("without_modules")
@pytest.mark.parametrize(
    ("text", "modules"),
    [
        (MYSQL, ["pymysql"]),
        ("[database]\nconnection = postgresql+psycopg2://u:p@db/heat\n", ["psycopg2"]),
        ("[database]\nconnection = sqlite:///x\n", []),
        ("[database]\nconnection = not a URL\n", []),
        ("", []),
        ("[tracing]\nbackend = opentelemetry\n", ["opentelemetry"]),
        ("[tracing]\nbackend = osprofiler\n", ["osprofiler"]),
        ("[DEFAULT]\ntransport_url = kafka://broker/\n", ["confluent_kafka"]),
        ("[oslo_messaging_notifications]\ntransport_url = kafka://b/\n", ["confluent_kafka"]),
        (MEMCACHED, ["memcache"]),
        (MEMCACHED + "memcache_tls_enabled = true\n", ["bmemcached"]),
        (MEMCACHED + "memcache_sasl_enabled = true\n", ["bmemcached"]),
        (MEMCACHED + "[heat_api]\nauth_strategy = noauth\n", []),
    ],
)
def test_module_that_an_option_needs_is_found_missing(
    load: LoadConfig, text: str, modules: list[str]
) -> None:
    found = find_missing(load(text), (*DAEMON_MODULES, *API_MODULES))
    assert [each.module for each in found] == modules


def test_declared_dependencies_suffice(load: LoadConfig) -> None:
    conf = load(MYSQL + MEMCACHED)
    assert find_missing(conf, (*DAEMON_MODULES, *API_MODULES)) == []


@pytest.mark.usefixtures("without_modules")
@pytest.mark.parametrize(
    ("run", "text", "message"),
    [
        (
            api_daemon.run_api,
            MEMCACHED,
            "[keystone_authtoken] memcached_servers needs the Python module memcache:"
            " pip install 'python-memcached'",
        ),
        (
            daemon_service.run_engine,
            MYSQL,
            "[database] connection needs the Python module pymysql:"
            " pip install 'heat-convergence[mysql]'",
        ),
    ],
)
def test_daemon_with_a_missing_module_does_not_start(
    tmp_path: Path, run: Callable[[list[str]], int], text: str, message: str
) -> None:
    path = tmp_path / "heat.conf"
    path.write_text(text)
    with pytest.raises(StartupProblem, match=f"^{re.escape(message)}$"):
        run(["--config-file", str(path)])


@pytest.mark.usefixtures("without_modules")
def test_process_exits_without_the_module_of_its_log(load: LoadConfig) -> None:
    with pytest.raises(StartupProblem, match="use_journal needs the Python module systemd"):
        load("[DEFAULT]\nuse_journal = true\n")


@pytest.mark.parametrize(
    ("text", "needed"),
    [
        ("enable_cancel_on_failover = true", "rabbit_quorum_queue = false"),
        ("enable_cancel_on_failover = true\nrabbit_quorum_queue = false", None),
        (
            "rabbit_stream_fanout = true\nuse_queue_manager = true",
            "rabbit_transient_quorum_queue = true",
        ),
        (
            "rabbit_stream_fanout = true\nrabbit_transient_quorum_queue = true",
            "use_queue_manager = true",
        ),
        ("kombu_compression = gzip", None),
        ("kombu_compression = unheard-of", "module"),
        ("", None),
    ],
)
def test_option_that_another_one_needs_is_named(
    load: LoadConfig, text: str, needed: str | None
) -> None:
    found = find_contradictions(load(f"[oslo_messaging_rabbit]\n{text}\n"))
    assert (len(found) == 1 and needed in found[0]) if needed else found == []


def test_options_of_rabbitmq_do_not_matter_to_another_driver(load: LoadConfig) -> None:
    options = "[oslo_messaging_rabbit]\nenable_cancel_on_failover = true\n"
    assert find_contradictions(load("[DEFAULT]\ntransport_url = fake://\n" + options)) == []
