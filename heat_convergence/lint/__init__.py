"""The linter: mistakes in templates and environments, and advice, without any server."""
