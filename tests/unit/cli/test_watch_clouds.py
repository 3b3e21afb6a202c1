"""The operator's credential of the watch, from the configuration."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from oslo_config import cfg

from heat_convergence.cli.components.watch_clouds import create_watch_clouds
from heat_convergence.clients.auth import ServiceAuth
from heat_convergence.clients.clouds import StackCloudCache
from heat_convergence.clients.settings import ClientSettings
from heat_convergence.conf.opts import register_all_opts
from heat_convergence.resources.openstack.shared_lists import ListRound


def components(conf: cfg.ConfigOpts, *, has_keystone: bool = True) -> Any:
    clouds = StackCloudCache(ClientSettings(region="north"), ServiceAuth(conf), lambda _tree: None)
    return SimpleNamespace(
        conf=conf, cloud_cache=clouds if has_keystone else None, cloud_of=clouds.get
    )


def configuration(**options: str) -> cfg.ConfigOpts:
    conf = cfg.ConfigOpts()
    register_all_opts(conf)
    conf([], default_config_files=[])
    for name, value in options.items():
        conf.set_override(name, value, "drift_auth")
    return conf


def test_stacks_read_for_themselves_without_a_credential():
    assert create_watch_clouds(components(configuration())) is None


def test_credential_needs_keystone():
    conf = configuration(auth_type="password")
    assert create_watch_clouds(components(conf, has_keystone=False)) is None


def test_clouds_are_those_of_the_stack_and_the_project():
    factory = create_watch_clouds(components(configuration(auth_type="none")))
    assert factory is not None
    cloud = factory("tree", "project-1", ListRound())
    assert cloud.project_id == "project-1"
    assert cloud.tree_id == "tree"
