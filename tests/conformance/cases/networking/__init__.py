"""Conformance cases of the networking services."""
