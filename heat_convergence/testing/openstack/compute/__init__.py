"""Emulated APIs of the compute services."""
