"""Options of the console, the web page that shows stacks.

Read by ``cli`` alone.
"""

from __future__ import annotations

from oslo_config import cfg

GROUP = "console"

OPTS = [
    cfg.BoolOpt(
        "enabled",
        default=False,
        help="Whether the API serves the console, a web page about stacks, at /console. Users log"
        " in to it at Keystone, through the API. standalone serves it unless the option is set to"
        " false.",
    ),
]
