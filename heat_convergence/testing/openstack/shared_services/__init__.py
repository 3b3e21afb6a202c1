"""Emulated APIs of the services that others rely on."""
