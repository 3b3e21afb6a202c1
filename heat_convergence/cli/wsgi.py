"""The API as a WSGI ``application`` for uwsgi, mod_wsgi and the like.

``startup.wsgi_components`` describes where options come from; this module decides nothing.
"""

from __future__ import annotations

from heat_convergence.cli.daemons.api_daemon import ORCHESTRATION, create_application
from heat_convergence.cli.startup.wsgi_components import load_wsgi_components

application = create_application(load_wsgi_components(ORCHESTRATION.binary))
