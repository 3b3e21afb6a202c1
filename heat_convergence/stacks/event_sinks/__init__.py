"""Sinks that get the events of a stack: those that its environment names, and plug-ins."""
