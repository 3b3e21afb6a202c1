"""Clients of Keystone and of the other OpenStack services."""
