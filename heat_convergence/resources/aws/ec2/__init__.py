"""Instances, volumes, addresses and networks."""
