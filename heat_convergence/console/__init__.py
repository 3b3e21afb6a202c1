"""The console: what a browser loads to show stacks, in ``static/``.

Ordinary ES modules and a style sheet, without a build step. They speak the public REST API alone;
``api.console`` serves them.
"""
