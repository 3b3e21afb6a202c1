"""Conformance cases of the storage services."""
