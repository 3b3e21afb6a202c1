"""Notifications of other services, as hints what to read soon."""
