"""Emulated APIs of the storage services."""
