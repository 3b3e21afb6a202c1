"""Connections to clouds other than that of this service."""
