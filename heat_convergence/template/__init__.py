"""Template text to partly evaluated definitions."""
