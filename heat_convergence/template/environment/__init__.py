"""Environments and the resource registry that they hold."""
