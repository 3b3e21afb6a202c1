"""Conformance cases of the services that automate work."""
