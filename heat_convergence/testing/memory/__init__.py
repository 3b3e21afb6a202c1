"""The in-memory store, a module per noun."""
