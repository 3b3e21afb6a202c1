"""Names in configuration files that no option has, with the nearest name that one has.

Options of libraries that a daemon does not load are not judged: only the API loads those of
keystonemiddleware and oslo.middleware, and so checks their sections.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path

from keystoneauth1 import loading
from keystoneauth1.exceptions import NoMatchingPlugin
from oslo_config import cfg

from heat_convergence.template.diagnostics import as_sentence, did_you_mean

OptionNames = dict[str, set[str]]  # by section
# The sources of options, as in etc/config-generator.conf, by a module that needs them.
OPTION_SOURCES = {
    "heat_convergence": None,
    "oslo.db": None,
    "oslo.log": None,
    "oslo.messaging": None,
    "oslo.reports": None,
    "oslo.service.service": None,
    "oslo.policy": "oslo_policy.policy",
    "keystonemiddleware.auth_token": "keystonemiddleware.auth_token",  # nosec B105  # a module
    "oslo.middleware.cors": "oslo_middleware.cors",
    "oslo.middleware.healthcheck": "oslo_middleware.healthcheck",
    "oslo.middleware.http_proxy_to_wsgi": "oslo_middleware.http_proxy_to_wsgi",
}
_SECTIONS_OF_OTHERS = frozenset(
    {"keystone_authtoken", "cors", "healthcheck", "oslo_middleware", "oslo_policy"}
)
_SECTIONS_WITH_PLUGINS = frozenset({"keystone_authtoken", "trustee"})


def find_unknown_options(conf: cfg.ConfigOpts) -> list[str]:
    """Return a sentence for each unknown name in the files of the configuration."""
    known = _known_names()
    found = []
    for path in _files(conf):
        sections: dict[str, dict[str, list[str]]] = {}
        cfg.ConfigParser(str(path), sections).parse()
        for section, values in sections.items():
            found += [f"{path}: {text}" for text in _unknown(section, values, known)]
    return found


def _unknown(section: str, values: Mapping[str, list[str]], known: OptionNames) -> Iterator[str]:
    if section not in known:
        if section not in _SECTIONS_OF_OTHERS:
            hint = as_sentence(did_you_mean(section, {*known, *_SECTIONS_OF_OTHERS}))
            yield f"the section [{section}] is unknown and ignored.{hint}"
        return
    names = known[section] | _plugin_names(section, values)
    for name in values:
        if _plain(name) not in names:
            hint = as_sentence(did_you_mean(_plain(name), names))
            yield f"[{section}] {name} is unknown and ignored.{hint}"


def _files(conf: cfg.ConfigOpts) -> list[Path]:
    folders = [Path(folder) for folder in conf.config_dir or ()]
    inside = [path for folder in folders for path in sorted(folder.glob("*.conf"))]
    return [Path(name) for name in conf.config_file or ()] + inside


@cache
def _option_sources() -> tuple[EntryPoint, ...]:
    """Return what installed packages declare; reading it takes longer than the options."""
    return tuple(entry_points(group="oslo.config.opts"))


def _known_names() -> OptionNames:
    names: OptionNames = {}
    for entry_point in _option_sources():
        module = OPTION_SOURCES.get(entry_point.name, "")
        if module is None or module in sys.modules:
            for group, options in entry_point.load()():
                _add_names(names, getattr(group, "name", group) or "DEFAULT", options)
    return names


def _add_names(names: OptionNames, section: str, options: Iterable[cfg.Opt]) -> None:
    own = names.setdefault(section, set())
    for option in options:
        own |= {option.dest, _plain(option.name)}
        for old in option.deprecated_opts:
            names.setdefault(old.group or section, set()).add(_plain(old.name or option.dest))


def _plugin_names(section: str, values: Mapping[str, list[str]]) -> set[str]:
    """Return the options of the authentication plug-in that a section names."""
    if section not in _SECTIONS_WITH_PLUGINS:
        return set()
    options = [
        *loading.get_auth_common_conf_options(),
        *loading.get_session_conf_options(),
        *loading.get_adapter_conf_options(),
    ]
    for plugin in values.get("auth_type", values.get("auth_plugin", ())):
        try:
            options += loading.get_auth_plugin_conf_options(plugin)
        except NoMatchingPlugin:
            return {_plain(name) for name in values}  # the plug-in's loader names the mistake
    names: OptionNames = {}
    _add_names(names, section, options)
    return names[section]


def _plain(name: str) -> str:
    return name.replace("-", "_")
