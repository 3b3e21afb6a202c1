"""The routes of the service: every method and path, by noun, and their table."""
