"""Checks of a daemon before its workers start, and what the workers report of their start."""
