"""Options of keystonemiddleware, which registers them with the first request only.

Called by the API before it checks its configuration, and by ``doctor``.
"""

from __future__ import annotations

from keystonemiddleware.opts import list_auth_token_opts
from oslo_config import cfg


def register_token_options(conf: cfg.ConfigOpts) -> None:
    """Register the options of ``[keystone_authtoken]``."""
    for group, options in list_auth_token_opts():
        conf.register_opts(options, group=group)
