"""Glance."""
