"""Neutron."""
