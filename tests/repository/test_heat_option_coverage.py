"""Every option of the Orchestration service is supported, or its absence is documented.

``data/heat_options.txt`` has a line for each option: group, name, default.
"""

from __future__ import annotations

import fnmatch
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from keystoneauth1 import loading
from oslo_config import cfg
from oslo_db import options as db_options

from heat_convergence.cli import config
from heat_convergence.conf import clients, opts

DOCUMENT = (Path(__file__).parents[2] / "docs" / "operate" / "configuration.rst").read_text()
# Options with other defaults, each described at the head of the document.
DIFFERENT_DEFAULTS = {
    ("DEFAULT", "auth_encryption_key"),
    ("DEFAULT", "environment_dir"),
    ("DEFAULT", "host"),
    ("database", "max_pool_size"),
    ("revision", "heat_revision"),
}


def options() -> Iterator[tuple[str, str, Any]]:
    text = (Path(__file__).parent / "data" / "heat_options.txt").read_text()
    for line in text.splitlines():
        group, name, default = line.split(" ", 2)
        yield group, name, json.loads(default)


def documented() -> set[tuple[str, str]]:
    """Return group and name of unsupported options; both may have wildcards."""
    tables = DOCUMENT[DOCUMENT.index("Unsupported options") :]
    return set(re.findall(r"^``\[([\w*]+)\] ([\w*]+)``", tables, re.M))


@pytest.fixture(scope="module")
def conf() -> cfg.ConfigOpts:
    conf = cfg.ConfigOpts()
    conf([], default_config_files=[], default_config_dirs=[])
    opts.register_all_opts(conf)
    config.set_library_defaults()
    conf.register_opts(db_options.database_opts, group="database")
    plugin: Any = loading.get_plugin_loader("password")  # as [trustee] auth_type would choose it
    found = [option._to_oslo_opt() for option in plugin.get_options()]
    conf.register_opts(found, group=clients.TRUSTEE_GROUP)
    return conf


def registered(conf: cfg.ConfigOpts, group: str, name: str) -> bool:
    if group == "DEFAULT":
        return name in conf
    return group in conf and name in conf[group]


@pytest.mark.parametrize(("group", "name", "default"), options())
def test_option_is_registered_or_documented_as_unsupported(
    conf: cfg.ConfigOpts, group: str, name: str, default: Any
) -> None:
    matching = [
        row
        for row in documented()
        if fnmatch.fnmatchcase(group, row[0]) and fnmatch.fnmatchcase(name, row[1])
    ]
    if not registered(conf, group, name):
        assert matching, f"[{group}] {name} is not in docs/operate/configuration.rst"
        return
    assert all("*" in row[0] + row[1] for row in matching), "documented as without a meaning"
    ours = (conf if group == "DEFAULT" else conf[group])[name]
    if (group, name) in DIFFERENT_DEFAULTS:
        assert ours != default
        assert f"``[{group}] {name}``" in DOCUMENT
    else:
        assert ours == default


def test_documented_options_exist_in_heat() -> None:
    known = [(group, name) for group, name, _default in options()]
    for pattern in documented():
        assert any(
            fnmatch.fnmatchcase(group, pattern[0]) and fnmatch.fnmatchcase(name, pattern[1])
            for group, name in known
        ), pattern
