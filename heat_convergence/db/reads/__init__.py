"""Read-only queries for the API, a module per noun."""
