"""Emulated services that automate work."""
