"""Conformance cases of the services that others rely on."""
