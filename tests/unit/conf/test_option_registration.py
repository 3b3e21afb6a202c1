"""Options: registration, the sample file, and settings with units."""

from __future__ import annotations

import io
import re
from pathlib import Path

import pytest
from oslo_config import cfg, generator

from heat_convergence.api.services import ApiOptions
from heat_convergence.cli.components import settings
from heat_convergence.cli.config import package_version
from heat_convergence.conf import notification_listener, opts
from heat_convergence.rpc import messages

SAMPLE = Path(__file__).parents[3] / "etc" / "heat-convergence.conf.sample"


@pytest.fixture
def conf() -> cfg.ConfigOpts:
    conf = cfg.ConfigOpts()
    conf([], default_config_files=[], default_config_dirs=[])
    opts.register_all_opts(conf)
    return conf


def blocks(sample: str) -> set[tuple[str, str]]:
    """Return the group, and the text with its help, of each option of a sample file."""
    found, group = set(), ""
    for paragraph in re.split(r"\n\s*\n", sample):
        text = paragraph.strip()
        if text.startswith("["):
            group = text.strip("[]")
        elif re.search(r"^#\w+ =", text, re.M):
            found.add((group, text))
    return found


def test_sample_file_is_up_to_date() -> None:
    written = io.StringIO()
    generated = cfg.ConfigOpts()
    generator.register_cli_opts(generated)
    generated(
        ["--namespace", "heat_convergence", "--wrap-width", "79"],
        default_config_files=[],
        default_config_dirs=[],
    )
    generator.generate(generated, output_file=written)
    ours = blocks(written.getvalue())
    assert len(ours) > 30
    missing = ours - blocks(SAMPLE.read_text())
    assert not missing, "run: tox -e sample"


def test_options_can_be_registered_twice(conf: cfg.ConfigOpts) -> None:
    opts.register_all_opts(conf)
    assert conf.action_retry_limit == 5


def test_options_reach_the_settings(conf: cfg.ConfigOpts) -> None:
    conf.set_override("lease", 20.0, group="engine")
    conf.set_override("jobs_on_bus", 7, group="engine")
    conf.set_override("jobs_in_hand", 70, group="engine")
    conf.set_override("action_retry_limit", 2)
    conf.set_override("error_wait_time", 30)
    conf.set_override("sweep_interval", 0.5, group="observer")
    conf.set_override("max_template_size", 99)
    conf.set_override("memory_quota", 77, group="yaql")
    conf.set_override("max_resources_per_stack", -1)
    conf.set_override("template_fetch_private_addresses", True)
    conf.set_override("region_name_for_services", "north")

    convergence = settings.convergence_settings(conf)
    assert (convergence.lease_s, convergence.retry_limit, convergence.error_wait_s) == (
        20.0,
        2,
        30.0,
    )
    assert convergence.sweep_interval_s == 0.5
    assert (convergence.jobs_on_bus, convergence.jobs_in_hand) == (7, 70)
    limits = settings.template_limits(conf)
    assert (limits.max_template_size, limits.yaql_memory_quota_bytes) == (99, 77)
    options = settings.api_options(conf)
    assert options.max_resources_per_stack == -1
    assert (options.fetch_private_addresses, options.region) == (True, "north")


def test_defaults_of_options_and_settings_agree(conf: cfg.ConfigOpts) -> None:
    assert settings.convergence_settings(conf) == type(settings.convergence_settings(conf))()
    assert settings.template_limits(conf) == type(settings.template_limits(conf))()
    assert settings.api_options(conf) == ApiOptions(revision=package_version())


@pytest.mark.parametrize(
    ("name", "group", "value"),
    [
        ("action_retry_limit", None, 0),
        ("lease", "engine", 0.1),
        ("jobs_on_bus", "engine", 0),
        ("jobs_in_hand", "engine", 0),
        ("bind_port", "heat_api", 70000),
    ],
)
def test_invalid_value_is_rejected(
    conf: cfg.ConfigOpts, name: str, group: str | None, value: float
) -> None:
    with pytest.raises(ValueError, match=r"(?i)should be|must be"):
        conf.set_override(name, value, group=group)


def test_notifications_have_a_queue_of_their_own() -> None:
    """A pool with the name of a topic is the topic's queue, where both use one virtual host."""
    (pool,) = [each for each in notification_listener.OPTS if each.name == "pool"]
    assert pool.default not in {messages.ENGINE_TOPIC, messages.OBSERVER_TOPIC}
