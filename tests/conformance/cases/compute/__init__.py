"""Conformance cases of the compute services."""
