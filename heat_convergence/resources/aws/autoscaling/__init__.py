"""Scaling groups of instances, their launch configurations and policies."""
