"""Statements that repositories, reads and maintenance share, a module per noun."""
