"""Drift: physical resources that differ from the properties applied last."""
