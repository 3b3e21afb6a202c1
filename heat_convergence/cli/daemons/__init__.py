"""Daemons: worker processes, their loops and their HTTP servers."""
