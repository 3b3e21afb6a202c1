"""Daemons."""
