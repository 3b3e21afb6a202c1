"""Emulated APIs of the networking services."""
